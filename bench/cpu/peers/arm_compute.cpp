// Arm Compute Library, in a library of its own because its interface is C++ and its headers may not be
// there. Tensors are in its preferred layout (channels last); weights are packed by the first run.

#include "cpu/contestant.h"

#include <arm_compute/runtime/NEON/NEFunctions.h>
#include <arm_compute/runtime/NEON/NEScheduler.h>
#include <arm_compute/runtime/Tensor.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace kawara::bench;
namespace acl = arm_compute;

/// A tensor whose memory comes after the function was configured, because functions ask for padding.
struct Blob {
  acl::Tensor tensor;

  /// Innermost dimension first.
  void describe(const std::vector<int64_t>& extents, acl::DataType type) {
    acl::TensorShape shape;
    for (size_t i = 0; i < extents.size(); ++i)
      shape.set(i, static_cast<size_t>(extents[i]));
    acl::TensorInfo info(shape, 1, type);
    if (type == acl::DataType::QASYMM8_SIGNED)
      info.set_quantization_info(acl::QuantizationInfo(1.0F, 0));
    if (extents.size() > 2)
      info.set_data_layout(acl::DataLayout::NHWC);
    tensor.allocator()->init(info);
  }
  void allocate() { tensor.allocator()->allocate(); }
  uint8_t* at(int64_t x, int64_t y = 0, int64_t z = 0, int64_t w = 0) const {
    return tensor.ptr_to_element(acl::Coordinates(int(x), int(y), int(z), int(w)));
  }
  void fill_matrix(const void* from, int64_t rows, int64_t columns, int64_t bytes) const {
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(at(0, r), static_cast<const char*>(from) + r * columns * bytes,
                  static_cast<size_t>(columns * bytes));
  }
};

class ArmCompute final : public Contestant {
public:
  explicit ArmCompute(int64_t threads) {
    acl::NEScheduler::get().set_num_threads(static_cast<unsigned>(threads));
  }

  const char* name() const override { return "ACL"; }
  const char* version() const override { return "Arm Compute Library of the system"; }

  bool prepare(const Case& c, const Operands& x) override {
    release();
    case_ = c;
    switch (c.op) {
    case Op::Gemm:
      return prepare_product(x.a, x.b, acl::DataType::F32, 4);
    case Op::GemmF16:
      return prepare_product(x.a_f16, x.b_f16, acl::DataType::F16, 2);
    case Op::GemmI8:
      return prepare_product(x.a_i8, x.b_i8, acl::DataType::QASYMM8_SIGNED, 1);
    case Op::Conv:
      return prepare_convolution(x);
    case Op::Softmax:
    case Op::Transpose:
      return prepare_rows(x);
    default:
      return false;
    }
  }

  void run() override { function_->run(); }

  void output(float* elements) const override {
    if (case_.op == Op::Conv) {
      const int64_t size = case_.conv.out_size();
      for (int64_t k = 0; k < case_.conv.filters; ++k)
        for (int64_t h = 0; h < size; ++h)
          for (int64_t w = 0; w < size; ++w)
            *elements++ = *reinterpret_cast<const float*>(out_->at(k, w, h));
      return;
    }
    const int64_t rows = case_.op == Op::Transpose ? case_.n : case_.m;
    const int64_t columns = case_.op == Op::Transpose ? case_.m : case_.n;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j)
        *elements++ = number(out_->at(j, r));
  }

  void release() override {
    function_.reset();
    in_.reset();
    weights_.reset();
    out_.reset();
  }

private:
  float number(const uint8_t* at) const {
    if (case_.op == Op::GemmI8)
      return static_cast<float>(*reinterpret_cast<const int32_t*>(at));
    if (case_.op == Op::GemmF16)
      return static_cast<float>(*reinterpret_cast<const half_float::half*>(at));
    return *reinterpret_cast<const float*>(at);
  }

  void make_blobs() {
    in_ = std::make_unique<Blob>();
    weights_ = std::make_unique<Blob>();
    out_ = std::make_unique<Blob>();
  }

  bool prepare_product(const void* a, const void* b, acl::DataType type, int64_t bytes) {
    make_blobs();
    const bool is_i8 = type == acl::DataType::QASYMM8_SIGNED;
    in_->describe({case_.k, case_.m}, type);
    weights_->describe({case_.n, case_.k}, type);
    out_->describe({case_.n, case_.m}, is_i8 ? acl::DataType::S32 : type);
    constexpr bool kPacksOnce = true;
    const acl::GEMMInfo info(false, false, kPacksOnce);
    if (is_i8) {
      auto product = std::make_unique<acl::NEGEMMLowpMatrixMultiplyCore>();
      product->configure(&in_->tensor, &weights_->tensor, nullptr, &out_->tensor, info);
      function_ = std::move(product);
    } else {
      auto product = std::make_unique<acl::NEGEMM>();
      product->configure(&in_->tensor, &weights_->tensor, nullptr, &out_->tensor, 1, 0, info);
      function_ = std::move(product);
    }
    allocate();
    in_->fill_matrix(a, case_.m, case_.k, bytes);
    weights_->fill_matrix(b, case_.k, case_.n, bytes);
    return true;
  }

  bool prepare_convolution(const Operands& x) {
    make_blobs();
    const Conv& c = case_.conv;
    in_->describe({c.channels, c.size, c.size, 1}, acl::DataType::F32);
    if (c.is_depthwise)
      weights_->describe({c.channels, c.window, c.window}, acl::DataType::F32);
    else
      weights_->describe({c.channels, c.window, c.window, c.filters}, acl::DataType::F32);
    out_->describe({c.filters, c.out_size(), c.out_size(), 1}, acl::DataType::F32);
    const auto stride = static_cast<unsigned>(c.stride), pad = static_cast<unsigned>(c.pad);
    const acl::PadStrideInfo steps(stride, stride, pad, pad);
    if (c.is_depthwise) {
      auto conv = std::make_unique<acl::NEDepthwiseConvolutionLayer>();
      conv->configure(&in_->tensor, &weights_->tensor, nullptr, &out_->tensor, steps);
      function_ = std::move(conv);
    } else {
      auto conv = std::make_unique<acl::NEConvolutionLayer>();
      conv->configure(&in_->tensor, &weights_->tensor, nullptr, &out_->tensor, steps);
      function_ = std::move(conv);
    }
    allocate();
    fill_channels_last(*in_, x.a, 1, c.channels, c.size);
    if (c.is_depthwise)
      fill_channels_last(*weights_, x.b, 1, c.channels, c.window);
    else
      fill_channels_last(*weights_, x.b, c.filters, c.channels, c.window);
    return true;
  }

  bool prepare_rows(const Operands& x) {
    make_blobs();
    const bool is_transpose = case_.op == Op::Transpose;
    in_->describe({case_.n, case_.m}, acl::DataType::F32);
    out_->describe({is_transpose ? case_.m : case_.n, is_transpose ? case_.n : case_.m},
                   acl::DataType::F32);
    if (is_transpose) {
      auto transpose = std::make_unique<acl::NETranspose>();
      transpose->configure(&in_->tensor, &out_->tensor);
      function_ = std::move(transpose);
    } else {
      auto softmax = std::make_unique<acl::NESoftmaxLayer>();
      softmax->configure(&in_->tensor, &out_->tensor);
      function_ = std::move(softmax);
    }
    in_->allocate();
    out_->allocate();
    in_->fill_matrix(x.a, case_.m, case_.n, 4);
    return true;
  }

  void allocate() {
    in_->allocate();
    weights_->allocate();
    out_->allocate();
  }

  static void fill_channels_last(const Blob& blob, const float* from, int64_t batch,
                                 int64_t channels, int64_t size) {
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t h = 0; h < size; ++h)
          for (int64_t w = 0; w < size; ++w)
            *reinterpret_cast<float*>(blob.at(c, w, h, n)) = *from++;
  }

  Case case_;
  std::unique_ptr<Blob> in_, weights_, out_;
  std::unique_ptr<acl::IFunction> function_;
};

} // namespace

extern "C" Contestant* kawara_contestant(int64_t threads) { return new ArmCompute(threads); }
