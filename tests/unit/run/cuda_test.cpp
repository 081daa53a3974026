#include "emit/cuda/cuda_from_kernel.h"
#include "run/cuda/cuda_executable.h"
#include "run/cuda/disassemble.h"
#include "run/cuda/nvrtc.h"
#include "unit/kernel/gpu/gpu_line.h"

namespace kawara::run {
namespace {

using gpu_line::compile;
using gpu_line::Sizes;

emit::CudaUnit unit_of(const std::string& text, const Sizes& sizes, bool are_fixed = true) {
  return emit::cuda_from_kernel(compile(text, "auto", sizes, are_fixed).kernel);
}

/// What NVRTC says of the text; empty when it is content.
std::string complaint(const emit::CudaUnit& unit) {
  NvrtcOptions options;
  options.flags = unit.flags;
  const auto cubin = cubin_from_cuda(unit.text, unit.function, options, true);
  if (!cubin)
    return render({cubin.error()});
  return cubin->log.find(" 0 bytes spill stores") == std::string::npos ? cubin->log : "";
}

TEST(CudaText, NvrtcCompilesEveryDefaultSchedule) {
  if (!has_nvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  for (const bool are_fixed : {true, false}) {
    EXPECT_EQ(complaint(unit_of(gpu_line::kGemm, {{"M", 256}, {"N", 256}, {"K", 64}}, are_fixed)),
              "");
    EXPECT_EQ(complaint(unit_of(gpu_line::kSoftmax, {{"M", 64}, {"N", 2048}}, are_fixed)), "");
    EXPECT_EQ(complaint(unit_of(gpu_line::kTranspose, {{"M", 64}, {"N", 96}}, are_fixed)), "");
    EXPECT_EQ(complaint(unit_of(gpu_line::kGelu, {{"M", 64}, {"N", 96}}, are_fixed)), "");
  }
  const std::string biased = "param M, N\ninput X: f32[M, N], b: f32[N]\noutput Y: f32[M, N]\n"
                             "Y[i, j] = gelu(X[i, j] + b[j])\n";
  const emit::CudaUnit looked_up = unit_of(biased, {{"M", 8192}, {"N", 4096}});
  EXPECT_NE(looked_up.text.find("kw_await_tails();"), std::string::npos);
  EXPECT_EQ(complaint(looked_up), "");
}

TEST(CudaText, ResultsOfSixteenBitsTakeShortFunctions) {
  const auto unit_with = [](const std::string& value, const std::string& numerics) {
    return unit_of("param M, N\nnumerics " + numerics +
                       "\ninput X: bf16[M, N]\noutput Y: bf16[M, N]\nY[i, j] = " + value + "\n",
                   {{"M", 64}, {"N", 96}});
  };
  const auto has = [](const emit::CudaUnit& unit, const std::string& call) {
    return unit.text.find(" " + call) != std::string::npos ||
           unit.text.find("(" + call) != std::string::npos;
  };
  const emit::CudaUnit product = unit_with("gelu(X[i, j]) * silu(X[i, j])", "rounding");
  EXPECT_TRUE(has(product, "kw_gelu_short(kw_to_float") && has(product, "kw_silu_short(kw_to"));
  // A sum may lose the digits that are there.
  const emit::CudaUnit sum = unit_with("gelu(X[i, j]) - X[i, j]", "rounding");
  EXPECT_TRUE(has(sum, "kw_gelu_by_tails(kw_to_float")) << sum.text;
  EXPECT_TRUE(has(unit_with("gelu(X[i, j])", "exact"), "kw_gelu_by_tails(kw_to_float"));
  if (!has_nvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  EXPECT_EQ(complaint(product), "");
  EXPECT_EQ(complaint(sum), "");
  EXPECT_EQ(complaint(unit_with("sigmoid(X[i, j]) * gelu_tanh(X[i, j])", "fast")), "");
}

TEST(CudaText, NvrtcCompilesProductsOnTensorCores) {
  if (!has_nvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  for (const Sizes& sizes :
       {Sizes{{"M", 256}, {"N", 512}, {"K", 128}}, Sizes{{"M", 200}, {"N", 136}, {"K", 72}}}) {
    const emit::CudaUnit unit = unit_of(gpu_line::kNarrowGemm, sizes);
    EXPECT_NE(unit.text.find("wgmma.mma_async"), std::string::npos) << unit.text;
    EXPECT_EQ(unit.launches.front().maps.size(), 3U);
    EXPECT_EQ(complaint(unit), "");
  }
}

TEST(CudaText, NvrtcCompilesProductsOfAFewRowsAndInParts) {
  if (!has_nvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  for (const Sizes& sizes :
       {Sizes{{"M", 1}, {"N", 256}, {"K", 512}}, Sizes{{"M", 3}, {"N", 70}, {"K", 300}}}) {
    EXPECT_EQ(complaint(unit_of(gpu_line::kGemm, sizes)), "");
    EXPECT_EQ(complaint(unit_of(gpu_line::kNarrowGemm, sizes)), "");
  }
  const emit::CudaUnit parts = unit_of(gpu_line::kNarrowGemm, {{"M", 16}, {"N", 64}, {"K", 1000}});
  EXPECT_EQ(parts.launches.size(), 2U);
  EXPECT_NE(parts.text.find("_workspace("), std::string::npos) << parts.text;
  EXPECT_EQ(complaint(parts), "");
}

TEST(CudaText, NvrtcCompilesProductsOfF32OnTensorCores) {
  if (!has_nvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  const std::string directives =
      "distribute(S0.j); distribute(S0.i)\n"
      "[tile(S1.i=64, S1.j=64, S1.k=32); tile(S0.i=64, S0.j=64)\n"
      "fuse(S0.i.0, S1.i.0); fuse(S0.j.0, S1.j.0); bind(S0.i.0, block.y); bind(S0.j.0, block.x)]\n"
      "tensorize(S1.i.1, wgmma.m64n64k8.tf32); pipeline(S1.k.0, 3)";
  const emit::CudaUnit unit = emit::cuda_from_kernel(
      compile("numerics fast\n" + gpu_line::kGemm, directives, {{"M", 200}, {"N", 136}, {"K", 70}})
          .kernel);
  EXPECT_NE(unit.text.find(".f32.tf32.tf32 "), std::string::npos) << unit.text;
  EXPECT_EQ(unit.launches.size(), 3U); // A has rows that no TMA finds, B lies the other way
  EXPECT_EQ(complaint(unit), "");
}

/// A GPU's own conversions stop at the ends of the type; those of programs keep the lower bits
/// (scalar/eval.h).
TEST(CudaText, FloatsBecomeIntegersByAFunction) {
  const auto unit_with = [](const std::string& elem, const std::string& value) {
    return unit_of("input X: f32[64]\noutput Y: " + elem + "[64]\nY[i] = " + value + "\n", {});
  };
  const auto has = [](const emit::CudaUnit& unit, const std::string& text) {
    return unit.text.find(text) != std::string::npos;
  };
  const emit::CudaUnit any = unit_with("i16", "i16(X[i])");
  EXPECT_FALSE(has(any, "(short)(v0") || has(any, "(short)v0")) << any.text;
  EXPECT_TRUE(has(any, "kw_to_i")) << any.text;
  const emit::CudaUnit within = unit_with("i16", "i16(max(0, min(65535, X[i])))");
  EXPECT_TRUE(has(within, "kw_to_i")) << within.text;
  const emit::CudaUnit wide = unit_with("f32", "f32(i64(X[i]))");
  EXPECT_FALSE(wide.has_narrow_indices) << wide.text;
  if (!has_nvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  for (const emit::CudaUnit& unit : {any, within, wide})
    EXPECT_EQ(complaint(unit), "");
}

/// Signed sums in C++ may not wrap, so compilers move comparisons over them: max(a + c, b + c) - c
/// was max(a, b).
TEST(CudaText, IntegersWrap) {
  const auto text_of = [](const std::string& value) {
    return unit_of("input A: i64[64], B: i64[64]\noutput Y: i64[64]\nY[i] = " + value + "\n", {})
        .text;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(text_of("A[i] + 5"), "(long long)((unsigned long long)")) << text_of("A[i] + 5");
  EXPECT_TRUE(has(text_of("-A[i]"), "0ull - (unsigned long long)"));
  EXPECT_TRUE(has(text_of("abs(A[i])"), "kw_absolute((long long)"));
  EXPECT_FALSE(has(text_of("max(A[i], B[i])"), "unsigned long long")) << "positions do not wrap";
  const emit::CudaUnit sum = unit_of(
      "input A: i64[8, 1000]\noutput Y: i64[8]\nY[i] = sum(j, A[i, j] * A[i, j] + 1)\n", {});
  EXPECT_FALSE(
      has(sum.text, "template <class T> static __device__ T of(T a, T b) { return a + b; } };"))
      << sum.text;
  if (!has_nvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  EXPECT_EQ(complaint(sum), "");
  for (const std::string value : {"A[i] // B[i] + 5 // B[i]", "7 % B[i] - A[i] % 4294967296",
                                  "max(-abs(A[i]), B[i] * A[i])", "select(A[i] < 0, 1, 2) // B[i]"})
    EXPECT_EQ(complaint(unit_of(
                  "input A: i64[64], B: i64[64]\noutput Y: i64[64]\nY[i] = " + value + "\n", {})),
              "");
}

/// An int holds every position of a small buffer, but not every number that is made of them.
TEST(CudaText, NumbersMadeOfPositionsMayBeWide) {
  const auto is_narrow = [](const std::string& value) {
    return unit_of("output Y: f32[100000]\nY[i] = " + value + "\n", {}).has_narrow_indices;
  };
  EXPECT_TRUE(is_narrow("f32(i + 3)"));
  EXPECT_FALSE(is_narrow("f32(i * i)"));
  EXPECT_FALSE(is_narrow("f32(i + 5000000000)"));
}

TEST(CudaText, VectorsAreLoadedWholeAndIndicesAreNarrow) {
  const emit::CudaUnit unit = unit_of(gpu_line::kGelu, {{"M", 4096}, {"N", 1024}});
  EXPECT_TRUE(unit.has_narrow_indices);
  EXPECT_NE(unit.text.find("*(const kw_vector<float, 4>*)&X["), std::string::npos) << unit.text;
  EXPECT_FALSE(unit_of(gpu_line::kGelu, {{"M", 64}, {"N", 1024}}, false).has_narrow_indices);
}

TEST(CudaText, TextWithAnErrorIsReportedWithTheWordsOfTheCompiler) {
  if (!has_nvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  const auto cubin = cubin_from_cuda("__global__ void f() { int x = y; }", "f", {});
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().code, "K0711");
  EXPECT_NE(render({cubin.error()}).find("identifier \"y\" is undefined"), std::string::npos);
}

TEST(CudaText, ToolsThatAreNotThereAreNamed) {
  const auto cubin = cubin_from_cuda("extern \"C\" __global__ void f() {}", "f", {});
  if (!cubin) {
    EXPECT_EQ(cubin.error().code, "K0710");
    EXPECT_FALSE(has_nvrtc());
    return;
  }
  const auto sass = sass_from_cubin(cubin->bytes);
  if (sass)
    EXPECT_NE(sass->find("EXIT"), std::string::npos);
  else
    EXPECT_EQ(sass.error().code, "K0716");
}

TEST(CudaText, BlocksThatNeedTooMuchAreRefused) {
  emit::CudaUnit unit;
  unit.launches.push_back({"big_0", {}, {}, {}, 300 * 1024, true});
  const auto refused = refuse_resources(unit, *target::named_gpu("sm_90a"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, "K0714");
  unit.launches[0].shared_bytes = 64 * 1024;
  EXPECT_FALSE(refuse_resources(unit, *target::named_gpu("sm_90a")));
}

TEST(CudaText, MachineCodeIsKept) {
  if (!has_nvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  NvrtcOptions options;
  options.cache = std::filesystem::path(testing::TempDir()) / "kawara_cubins";
  std::filesystem::remove_all(options.cache);
  const std::string text = "extern \"C\" __global__ void f(int* x) { *x = 1; }";
  const auto first = cubin_from_cuda(text, "f", options);
  const auto second = cubin_from_cuda(text, "f", options);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->is_from_cache);
  EXPECT_TRUE(second->is_from_cache);
  EXPECT_EQ(first->bytes, second->bytes);
}

TEST(CudaDevice, MachinesWithoutADriverAreToldSo) {
  const auto device = CudaDevice::open();
  if (device)
    GTEST_SKIP() << "this machine has a GPU";
  EXPECT_TRUE(device.error().code == "K0712" || device.error().code == "K0713");
  EXPECT_NE(render({device.error()}), "");
}

TEST(CudaDevice, KernelsOnTheGpuMeanTheSame) {
  const auto device = CudaDevice::open();
  if (!device || !has_nvrtc())
    GTEST_SKIP() << "no GPU, or no NVRTC, on this machine";
  const Sizes sizes = {{"M", 100}, {"N", 2000}};
  const auto line = compile(gpu_line::kSoftmax, "auto", sizes);
  NvrtcOptions options;
  options.arch = (*device)->gpu().arch;
  auto code =
      CudaExecutable::load(line.kernel, emit::cuda_from_kernel(line.kernel), *device, options);
  ASSERT_TRUE(code) << render({code.error()});
  std::vector<float> x(200000), y(200000);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i % 97) * 0.1F;
  void* arguments[] = {x.data(), y.data()};
  const int64_t params[] = {100, 2000};
  ASSERT_TRUE(code->call(arguments, params));
  for (size_t row = 0; row < 100; ++row) {
    double total = 0;
    for (size_t j = 0; j < 2000; ++j)
      total += static_cast<double>(y[row * 2000 + j]);
    EXPECT_NEAR(total, 1.0, 1e-4);
  }
}

/// Results of `Y[i] = value` for these X, from the GPU and from the interpreter.
template <class T>
void expect_interpreted(const std::string& elem, const std::string& value,
                        const std::vector<float>& x, const std::shared_ptr<CudaDevice>& device) {
  const std::string count = std::to_string(x.size());
  const auto line = compile("input X: f32[" + count + "]\noutput Y: " + elem + "[" + count +
                                "]\nY[i] = " + value + "\n",
                            "auto", {});
  NvrtcOptions options;
  options.arch = device->gpu().arch;
  auto code =
      CudaExecutable::load(line.kernel, emit::cuda_from_kernel(line.kernel), device, options);
  ASSERT_TRUE(code) << render({code.error()});
  std::vector<float> given = x;
  std::vector<T> y(x.size());
  void* arguments[] = {given.data(), y.data()};
  ASSERT_TRUE(code->call(arguments, {}));
  program::Array array(scalar::Elem::F32, {static_cast<int64_t>(x.size())});
  for (size_t k = 0; k < x.size(); ++k)
    array.set_double(static_cast<int64_t>(k), static_cast<double>(x[k]));
  const auto expected = program::interpret(line.program, {}, {{"X", array}});
  ASSERT_TRUE(expected);
  for (size_t k = 0; k < x.size(); ++k)
    EXPECT_EQ(static_cast<double>(y[k]), expected->at("Y").get_double(static_cast<int64_t>(k)))
        << value << " of " << x[k];
}

TEST(CudaDevice, FloatsBecomeIntegersAsTheInterpreterSays) {
  const auto device = CudaDevice::open();
  if (!device || !has_nvrtc())
    GTEST_SKIP() << "no GPU, or no NVRTC, on this machine";
  const std::vector<float> x = {0.0F,   -0.75F,  1.5F,      127.9F,     128.0F,   255.0F,
                                256.0F, -129.0F, 32768.0F,  65535.0F,   65536.0F, -40000.0F,
                                3e9F,   -3e9F,   6e18F,     1e30F,      -1e30F,   INFINITY,
                                NAN,    2.5F,    -INFINITY, 16777216.0F};
  expect_interpreted<int16_t>("i16", "i16(X[i])", x, *device);
  expect_interpreted<int16_t>("i16", "i16(max(0, min(65535, X[i])))", x, *device);
  expect_interpreted<int8_t>("i8", "i8(X[i])", x, *device);
  expect_interpreted<uint8_t>("u8", "u8(X[i])", x, *device);
  expect_interpreted<int32_t>("i32", "i32(X[i])", x, *device);
  expect_interpreted<int64_t>("i64", "i64(X[i])", x, *device);
  expect_interpreted<float>("f32", "f32(i64(X[i]))", x, *device);
}

} // namespace
} // namespace kawara::run
