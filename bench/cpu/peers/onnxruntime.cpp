// ONNX Runtime: every case is a model of one or a few nodes. Weights are constants of the model, so
// that the session packs them when it is made.

#include "cpu/peers/onnx_model.h"
#include "cpu/peers/ort_api.h"
#include "cpu/peers/peers.h"

#include "scalar/half.h"

#include <cmath>
#include <cstring>

namespace kawara::bench {
namespace {

constexpr int64_t kOpset = 20;
using Shape = OnnxModel::Shape;

/// An input or the output of a session: memory with a name.
struct Port {
  std::string name;
  OnnxType type;
  Shape shape;
  const void* data;
  size_t bytes() const {
    size_t size = type == OnnxType::I8 ? 1 : type == OnnxType::F16 ? 2 : 4;
    for (const int64_t extent : shape)
      size *= static_cast<size_t>(extent);
    return size;
  }
};

struct Model {
  OnnxModel nodes;
  std::vector<Port> inputs;
  Port output;
};

Model product(const Case& c, const Operands& x) {
  Model m;
  OnnxType type = OnnxType::F32, result = OnnxType::F32;
  const void *a = x.a, *b = x.b;
  if (c.op == Op::GemmI8) {
    type = OnnxType::I8;
    result = OnnxType::I32;
    a = x.a_i8;
    b = x.b_i8;
  } else if (c.op == Op::GemmF16) {
    type = result = OnnxType::F16;
    a = x.a_f16;
    b = x.b_f16;
  }
  m.inputs = {{"A", type, {c.m, c.k}, a}};
  m.output = {"C", result, {c.m, c.n}, nullptr};
  const Port weights{"B", type, {c.k, c.n}, b};
  m.nodes.constant("B", type, weights.shape, b, weights.bytes())
      .node(c.op == Op::GemmI8 ? "MatMulInteger" : "MatMul", {"A", "B"}, "C");
  return m;
}

Model convolution(const Conv& c, const Operands& x) {
  Model m;
  m.inputs = {{"X", OnnxType::F32, {1, c.channels, c.size, c.size}, x.a}};
  m.output = {"Y", OnnxType::F32, {1, c.filters, c.out_size(), c.out_size()}, nullptr};
  const Port weights{
      "W", OnnxType::F32, {c.filters, c.is_depthwise ? 1 : c.channels, c.window, c.window}, x.b};
  m.nodes.constant("W", weights.type, weights.shape, x.b, weights.bytes())
      .node("Conv", {"X", "W"}, "Y",
            {OnnxModel::list("kernel_shape", {c.window, c.window}),
             OnnxModel::list("strides", {c.stride, c.stride}),
             OnnxModel::list("pads", {c.pad, c.pad, c.pad, c.pad}),
             OnnxModel::number("group", c.is_depthwise ? c.channels : 1)});
  return m;
}

Model attention(const Case& c, const Operands& x) {
  Model m;
  const Shape shape{1, c.m, c.n, c.k};
  m.inputs = {{"Q", OnnxType::F32, shape, x.a},
              {"K", OnnxType::F32, shape, x.b},
              {"V", OnnxType::F32, shape, x.c}};
  m.output = {"Y", OnnxType::F32, shape, nullptr};
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(c.k)));
  m.nodes.constant("scale", OnnxType::F32, {}, &scale, sizeof scale)
      .node("Transpose", {"K"}, "T", {OnnxModel::list("perm", {0, 1, 3, 2})})
      .node("MatMul", {"Q", "T"}, "P")
      .node("Mul", {"P", "scale"}, "S")
      .node("Softmax", {"S"}, "W", {OnnxModel::number("axis", -1)})
      .node("MatMul", {"W", "V"}, "Y");
  return m;
}

/// The model's result goes through more nodes.
Model product_and_gelu(const Case& c, const Operands& x) {
  Model m = product(c, x);
  m.output.name = "Y";
  m.nodes.node("Gelu", {"C"}, "Y");
  return m;
}

Model convolution_and_pool(const Conv& c, const Operands& x) {
  Model m = convolution(c, x);
  const int64_t pooled = Pool::out_size(c.out_size());
  const auto channels = static_cast<size_t>(c.filters);
  for (const auto& [name, row] : {std::pair{"gamma", 0}, {"beta", 1}, {"mean", 2}, {"variance", 3}})
    m.nodes.constant(name, OnnxType::F32, {c.filters}, x.c + static_cast<size_t>(row) * channels,
                     channels * sizeof(float));
  m.nodes
      .node("BatchNormalization", {"Y", "gamma", "beta", "mean", "variance"}, "N",
            {OnnxModel::real("epsilon", 1e-5F)})
      .node("Relu", {"N"}, "R")
      .node("MaxPool", {"R"}, "P",
            {OnnxModel::list("kernel_shape", {Pool::kWindow, Pool::kWindow}),
             OnnxModel::list("strides", {Pool::kStride, Pool::kStride})});
  m.output = {"P", OnnxType::F32, {1, c.filters, pooled, pooled}, nullptr};
  return m;
}

Model rows(const Case& c, const Operands& x) {
  Model m;
  const Shape shape{c.m, c.n};
  m.inputs = {{"X", OnnxType::F32, shape, x.a}};
  m.output = {"Y", OnnxType::F32, shape, nullptr};
  const auto row = static_cast<size_t>(c.n) * sizeof(float);
  if (c.op == Op::Softmax)
    m.nodes.node("Softmax", {"X"}, "Y", {OnnxModel::number("axis", -1)});
  else if (c.op == Op::LayerNorm)
    m.nodes.constant("gamma", OnnxType::F32, {c.n}, x.b, row)
        .constant("beta", OnnxType::F32, {c.n}, x.c, row)
        .node("LayerNormalization", {"X", "gamma", "beta"}, "Y",
              {OnnxModel::number("axis", -1), OnnxModel::real("epsilon", 1e-5F)});
  else if (c.op == Op::Gelu)
    m.nodes.node("Gelu", {"X"}, "Y");
  else if (c.op == Op::AddRelu) {
    m.inputs.push_back({"Z", OnnxType::F32, shape, x.b});
    m.nodes.node("Add", {"X", "Z"}, "S").node("Relu", {"S"}, "Y");
  } else {
    m.output.shape = {c.n, c.m};
    m.nodes.node("Transpose", {"X"}, "Y", {OnnxModel::list("perm", {1, 0})});
  }
  return m;
}

/// A session with its inputs and its output in place.
class Session {
public:
  Session(const OrtApi& api, Model model, int64_t threads)
      : api_(api), output_(model.output), out_(model.output.bytes()) {
    for (const Port& port : model.inputs)
      model.nodes.input(port.name, port.type, port.shape);
    model.nodes.output(output_.name, output_.type, output_.shape);
    session_ = api.make_session(model.nodes.bytes(kOpset), threads);
    for (const Port& port : model.inputs) {
      names_.push_back(port.name);
      values_.push_back(api.make_tensor(const_cast<void*>(port.data), port.bytes(), port.shape,
                                        static_cast<int>(port.type)));
    }
    for (const std::string& name : names_)
      name_pointers_.push_back(name.c_str());
    written_ =
        api.make_tensor(out_.data(), out_.size(), output_.shape, static_cast<int>(output_.type));
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    for (OrtApi::Value* value : values_)
      api_.release(value);
    api_.release(written_);
    api_.release(session_);
  }

  void run() { api_.run(session_, name_pointers_, values_, output_.name.c_str(), written_); }

  /// As floats.
  float element(size_t at) const {
    if (output_.type == OnnxType::F16)
      return static_cast<float>(scalar::f16_value(load<uint16_t>(at)));
    if (output_.type == OnnxType::I32)
      return static_cast<float>(load<int32_t>(at));
    return load<float>(at);
  }

private:
  template <class T> T load(size_t at) const {
    T value;
    std::memcpy(&value, out_.data() + at * sizeof(T), sizeof(T));
    return value;
  }

  const OrtApi& api_;
  Port output_;
  std::vector<char> out_;
  std::vector<std::string> names_;
  std::vector<const char*> name_pointers_;
  std::vector<OrtApi::Value*> values_;
  OrtApi::Value* written_ = nullptr;
  OrtApi::Session* session_ = nullptr;
};

class OnnxRuntime final : public Contestant {
public:
  OnnxRuntime(const SharedLibrary& library, int64_t threads) : api_(library), threads_(threads) {}

  const char* name() const override { return "ORT"; }
  const char* version() const override { return api_.version(); }

  bool prepare(const Case& c, const Operands& x) override {
    release();
    elements_ = static_cast<size_t>(output_elements(c));
    Model model = c.op == Op::GemmGelu     ? product_and_gelu(c, x)
                  : c.op == Op::ConvPool   ? convolution_and_pool(c.conv, x)
                  : c.group == "gemm"      ? product(c, x)
                  : c.group == "conv"      ? convolution(c.conv, x)
                  : c.group == "attention" ? attention(c, x)
                                           : rows(c, x);
    session_ = std::make_unique<Session>(api_, std::move(model), threads_);
    return true;
  }
  void run() override { session_->run(); }
  void output(float* elements) const override {
    for (size_t i = 0; i < elements_; ++i)
      elements[i] = session_->element(i);
  }
  void release() override { session_.reset(); }

private:
  OrtApi api_;
  int64_t threads_;
  size_t elements_ = 0;
  std::unique_ptr<Session> session_;
};

/// The operator that ONNX Runtime adds for attention. It takes all heads of a position side by side.
class FusedAttention final : public Contestant {
public:
  FusedAttention(const SharedLibrary& library, int64_t threads)
      : api_(library), threads_(threads) {}

  const char* name() const override { return "ORT-attention"; }
  const char* version() const override { return api_.version(); }

  bool prepare(const Case& c, const Operands& x) override {
    release();
    if (c.op != Op::Attention)
      return false;
    case_ = c;
    Model m;
    const Shape shape{1, c.n, c.m * c.k};
    for (const auto& [name, data] : {std::pair{"Q", x.a}, {"K", x.b}, {"V", x.c}}) {
      std::vector<float>& side_by_side =
          operands_.emplace_back(static_cast<size_t>(output_elements(c)));
      for (size_t i = 0; i < side_by_side.size(); ++i)
        side_by_side[place(i)] = data[i];
      m.inputs.push_back({name, OnnxType::F32, shape, side_by_side.data()});
    }
    m.output = {"Y", OnnxType::F32, shape, nullptr};
    m.nodes.node("MultiHeadAttention", {"Q", "K", "V"}, "Y", {OnnxModel::number("num_heads", c.m)},
                 "com.microsoft");
    session_ = std::make_unique<Session>(api_, std::move(m), threads_);
    return true;
  }
  void run() override { session_->run(); }
  void output(float* elements) const override {
    for (size_t i = 0; i < static_cast<size_t>(output_elements(case_)); ++i)
      elements[i] = session_->element(place(i));
  }
  void release() override {
    session_.reset();
    operands_.clear();
  }

private:
  /// From head by head to side by side.
  size_t place(size_t at) const {
    const auto heads = static_cast<size_t>(case_.m), positions = static_cast<size_t>(case_.n),
               size = static_cast<size_t>(case_.k);
    const size_t head = at / size / positions, position = at / size % positions;
    return (position * heads + head) * size + at % size;
  }

  OrtApi api_;
  int64_t threads_;
  Case case_;
  std::vector<std::vector<float>> operands_;
  std::unique_ptr<Session> session_;
};

template <class T> std::unique_ptr<Contestant> make(const PeerOptions& options) {
  const auto library = SharedLibrary::open(options.folder, "libonnxruntime.so.1");
  if (!library)
    return nullptr;
  return std::make_unique<T>(*library, options.threads);
}

} // namespace

std::unique_ptr<Contestant> make_onnxruntime(const PeerOptions& options) {
  return make<OnnxRuntime>(options);
}

std::unique_ptr<Contestant> make_onnxruntime_attention(const PeerOptions& options) {
  return make<FusedAttention>(options);
}

} // namespace kawara::bench
