// oneDNN, in a library of its own because its headers may not be there. Activations and weights are in
// the layouts that each primitive prefers; getting there is not timed, as inside a network.

#include "cpu/contestant.h"

#include <dnnl.hpp>

#include <cstring>
#include <string>
#include <unordered_map>

namespace {

using namespace kawara::bench;
using dnnl::memory;
using Type = memory::data_type;
using Tag = memory::format_tag;

class OneDnn final : public Contestant {
public:
  OneDnn() : async_op_(dnnl::async_op::kind::cpu, 0), stream_(async_op_) {
    const dnnl_version_t* v = dnnl_version();
    version_ =
        std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }

  const char* name() const override { return "oneDNN"; }
  const char* version() const override { return version_.c_str(); }

  bool prepare(const Case& c, const Operands& x) override {
    release();
    case_ = c;
    switch (c.op) {
    case Op::Gemm:
      prepare_product(x.a, x.b, Type::f32, Type::f32);
      break;
    case Op::GemmI8:
      prepare_product(x.a_i8, x.b_i8, Type::s8, Type::s32);
      break;
    case Op::Conv:
      prepare_convolution(x);
      break;
    case Op::Softmax:
    case Op::Gelu:
    case Op::LayerNorm:
    case Op::AddRelu:
    case Op::Transpose:
      prepare_rows(x);
      break;
    default:
      return false;
    }
    return true;
  }

  void run() override {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

  void output(float* elements) const override {
    const memory plain = reordered(arguments_.at(DNNL_ARG_DST), plain_output_);
    const auto count = static_cast<size_t>(output_elements(case_));
    if (case_.op == Op::GemmI8)
      for (size_t i = 0; i < count; ++i)
        elements[i] = static_cast<float>(static_cast<const int32_t*>(plain.get_data_handle())[i]);
    else
      std::memcpy(elements, plain.get_data_handle(), count * sizeof(float));
  }

  void release() override {
    primitive_ = {};
    arguments_.clear();
  }

private:
  memory reordered(const memory& from, const memory::desc& to) const {
    if (from.get_desc() == to)
      return from;
    memory moved(to, async_op_);
    dnnl::stream stream(async_op_);
    dnnl::reorder(from, moved).execute(stream, const_cast<memory&>(from), moved);
    stream.wait();
    return moved;
  }

  /// The caller's elements in the layout that a primitive wants.
  memory operand(const void* data, const memory::desc& plain, const memory::desc& wanted) const {
    return reordered(memory(plain, async_op_, const_cast<void*>(data)), wanted);
  }

  void prepare_product(const void* a, const void* b, Type operand_type, Type result) {
    const memory::dims left{case_.m, case_.k}, right{case_.k, case_.n}, out{case_.m, case_.n};
    const memory::desc src(left, operand_type, Tag::ab), dst(out, result, Tag::ab);
    const dnnl::matmul::primitive_desc chosen(
        dnnl::matmul::desc(src, memory::desc(right, operand_type, Tag::any), dst), async_op_);
    primitive_ = dnnl::matmul(chosen);
    plain_output_ = dst;
    arguments_ = {{DNNL_ARG_SRC, operand(a, src, src)},
                  {DNNL_ARG_WEIGHTS,
                   operand(b, memory::desc(right, operand_type, Tag::ab), chosen.weights_desc())},
                  {DNNL_ARG_DST, memory(dst, async_op_)}};
  }

  void prepare_convolution(const Operands& x) {
    const Conv& c = case_.conv;
    const memory::dims image{1, c.channels, c.size, c.size};
    const memory::dims out{1, c.filters, c.out_size(), c.out_size()};
    const memory::dims weights = c.is_depthwise
                                     ? memory::dims{c.channels, 1, 1, c.window, c.window}
                                     : memory::dims{c.filters, c.channels, c.window, c.window};
    const Tag plain_weights = c.is_depthwise ? Tag::abcde : Tag::abcd;
    const memory::dims strides{c.stride, c.stride}, pads{c.pad, c.pad};
    const dnnl::convolution_forward::primitive_desc chosen(
        dnnl::convolution_forward::desc(
            dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto,
            memory::desc(image, Type::f32, Tag::any), memory::desc(weights, Type::f32, Tag::any),
            memory::desc(out, Type::f32, Tag::any), strides, pads, pads),
        async_op_);
    primitive_ = dnnl::convolution_forward(chosen);
    plain_output_ = memory::desc(out, Type::f32, Tag::abcd);
    arguments_ = {
        {DNNL_ARG_SRC, operand(x.a, memory::desc(image, Type::f32, Tag::abcd), chosen.src_desc())},
        {DNNL_ARG_WEIGHTS,
         operand(x.b, memory::desc(weights, Type::f32, plain_weights), chosen.weights_desc())},
        {DNNL_ARG_DST, memory(chosen.dst_desc(), async_op_)}};
  }

  void prepare_rows(const Operands& x) {
    const memory::dims shape{case_.m, case_.n};
    const memory::desc rows(shape, Type::f32, Tag::ab), row({case_.n}, Type::f32, Tag::a);
    constexpr auto kForward = dnnl::prop_kind::forward_inference;
    plain_output_ = rows;
    arguments_ = {{DNNL_ARG_SRC, operand(x.a, rows, rows)},
                  {DNNL_ARG_DST, memory(rows, async_op_)}};
    if (case_.op == Op::Softmax) {
      primitive_ = dnnl::softmax_forward({{kForward, rows, 1}, async_op_});
    } else if (case_.op == Op::Gelu) {
      primitive_ = dnnl::eltwise_forward(
          {{kForward, dnnl::algorithm::eltwise_gelu_erf, rows, 0, 0}, async_op_});
    } else if (case_.op == Op::LayerNorm) {
      const auto flags =
          dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
      primitive_ = dnnl::layer_normalization_forward({{kForward, rows, 1e-5F, flags}, async_op_});
      arguments_.insert({DNNL_ARG_SCALE, operand(x.b, row, row)});
      arguments_.insert({DNNL_ARG_SHIFT, operand(x.c, row, row)});
    } else if (case_.op == Op::AddRelu) {
      dnnl::post_ops relu;
      relu.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
      dnnl::primitive_attr attributes;
      attributes.set_post_ops(relu);
      primitive_ =
          dnnl::binary({{dnnl::algorithm::binary_add, rows, rows, rows}, attributes, async_op_});
      arguments_.insert({DNNL_ARG_SRC_1, operand(x.b, rows, rows)});
    } else {
      const memory::desc columns(shape, Type::f32, Tag::ba);
      primitive_ = dnnl::reorder({async_op_, rows, async_op_, columns});
      arguments_.at(DNNL_ARG_DST) = memory(columns, async_op_);
      plain_output_ = columns;
    }
  }

  std::string version_;
  dnnl::async_op async_op_;
  dnnl::stream stream_;
  Case case_;
  dnnl::primitive primitive_;
  memory::desc plain_output_;
  std::unordered_map<int, memory> arguments_;
};

} // namespace

extern "C" Contestant* kawara_contestant(int64_t) { return new OneDnn(); }
