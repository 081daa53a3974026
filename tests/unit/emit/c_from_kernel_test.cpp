#include "emit/c/c_from_kernel.h"
#include "unit/kernel/line.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace kawara {
namespace {

namespace fs = std::filesystem;

/// A folder that goes away with the test.
class Folder {
public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "kawara_c_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }

private:
  fs::path path_;
};

/// A second function with one signature for all: void call(const int64_t* params, void** buffers).
std::string with_entry(const kernel::Kernel& k, const emit::CUnit& unit) {
  std::string args;
  for (size_t p = 0; p < k.params.size(); ++p)
    args += (args.empty() ? "" : ", ") + ("p[" + std::to_string(p) + "]");
  size_t next = 0;
  for (const kernel::Buffer& b : k.buffers)
    if (b.scope == kernel::Scope::Argument)
      args += (args.empty() ? "" : ", ") + ("b[" + std::to_string(next++) + "]");
  return unit.text + "\nvoid call(const int64_t* p, void** b);\n" +
         "void call(const int64_t* p, void** b) {\n  (void)p;\n  " + unit.function + "(" + args +
         ");\n}\n";
}

bool is_there(const std::string& compiler) {
  return std::system(("command -v " + compiler.substr(0, 5) + " > /dev/null").c_str()) == 0;
}

/// clang before 15 does not, on x86-64.
bool knows_f16(const std::string& compiler) {
  const std::string command =
      "echo '_Float16 x;' | " + compiler + " -x c -c -o /dev/null - 2> /dev/null";
  return std::system(command.c_str()) == 0;
}

program::Arrays run_c(const program::Program& program, const kernel::Kernel& k,
                      const emit::CUnit& unit, const std::string& compiler,
                      const std::vector<int64_t>& params, const program::Arrays& inputs) {
  const Folder folder;
  std::ofstream(folder / "unit.c") << with_entry(k, unit);
  const std::string command = compiler + " -std=c11 -O1 -Wall -Wextra -Werror -shared -fPIC -o " +
                              (folder / "unit.so").string() + " " + (folder / "unit.c").string() +
                              " -lm 2> " + (folder / "log").string();
  if (std::system(command.c_str()) != 0) {
    std::ifstream log(folder / "log");
    ADD_FAILURE() << compiler << "\n"
                  << std::string(std::istreambuf_iterator<char>(log), {}) << unit.text;
    return {};
  }
  void* library = dlopen((folder / "unit.so").c_str(), RTLD_NOW);
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    return {};
  }
  auto arrays = program::bind_arguments(program, params, inputs);
  std::vector<void*> buffers;
  for (size_t b = 0; b < k.buffers.size(); ++b)
    if (k.buffers[b].scope == kernel::Scope::Argument)
      buffers.push_back((*arrays)[b].data());
  const auto call = reinterpret_cast<void (*)(const int64_t*, void**)>(dlsym(library, "call"));
  call(params.data(), buffers.data());
  return program::results_of(program, *std::move(arrays));
}

void expect_c(const std::string& text, const std::string& directives,
              const std::vector<int64_t>& params, bool is_naive = false) {
  const line::Line made = line::compile(text, directives);
  const emit::CUnit unit = emit::c_from_kernel(made.kernel, {.is_naive = is_naive, .function = ""});
  const auto inputs = program::pattern_inputs(made.program, params, 5);
  const auto expected = program::interpret(made.program, params, *inputs);
  ASSERT_TRUE(static_cast<bool>(expected));
  const bool has_f16 = unit.text.find("_Float16") != std::string::npos;
  size_t asked = 0;
  for (const char* compiler : {"gcc", "gcc -fopenmp", "clang"}) {
    if (!is_there(compiler) || (has_f16 && !knows_f16(compiler)))
      continue;
    ++asked;
    const auto results = run_c(made.program, made.kernel, unit, compiler, params, *inputs);
    for (const auto& [name, want] : *expected) {
      const auto found = results.find(name);
      ASSERT_NE(found, results.end()) << unit.text;
      for (int64_t c = 0; c < want.elements(); ++c)
        ASSERT_NEAR(found->second.get_double(c), want.get_double(c),
                    1e-4 * (1 + std::abs(want.get_double(c))))
            << compiler << ": " << name << " element " << c << "\n"
            << unit.text;
    }
  }
  EXPECT_GT(asked, 0U) << "no compiler of C takes this text";
}

constexpr const char* kGemm = R"(param M, N, K
input A: f32[M, K], B: f32[K, N]
output C: f32[M, N]
for i in range(M):
    for j in range(N):
        C[i, j] = 0
        for k in range(K):
            C[i, j] += A[i, k] * B[k, j]
)";

TEST(CFromKernel, NaiveGemmReadsLikeTheSource) {
  const line::Line made = line::compile(kGemm);
  const emit::CUnit unit = emit::c_from_kernel(made.kernel, {.is_naive = true, .function = "gemm"});
  EXPECT_EQ(unit.function, "gemm");
  EXPECT_NE(unit.text.find("void gemm(int64_t M, int64_t N, int64_t K, const float* restrict A, "
                           "const float* restrict B, float* restrict C) {"),
            std::string::npos)
      << unit.text;
  EXPECT_NE(unit.text.find("C[i * N + j] += A[i * K + k] * B[k * N + j];"), std::string::npos)
      << unit.text;
  EXPECT_EQ(unit.text.find("kw_"), std::string::npos) << unit.text;
  const line::Line tiled = line::compile(kGemm, "split(j, 8)");
  const std::string helped = emit::c_from_kernel(tiled.kernel, {}).text;
  EXPECT_NE(helped.find("kw_"), std::string::npos) << helped;
}

TEST(CFromKernel, GemmNaiveAndTiled) {
  expect_c(kGemm, "", {5, 7, 3}, true);
  expect_c(kGemm,
           "distribute(i); tile(S1.i=4, S1.j=8); reorder(S1.i.0, S1.j.0, S1.k, S1.i.1, S1.j.1); "
           "unroll(S1.i.1); vectorize(S1.j.1, 4); parallel(S1.i.0)",
           {9, 17, 6});
}

TEST(CFromKernel, ReductionsOverLanes) {
  expect_c(R"(param N
input a: f64[N], b: f64[N]
output s: f64
s = sum(i, a[i] * b[i])
)",
           "vectorize(S1.i, 4)", {37});
}

TEST(CFromKernel, NarrowTypesAndTemporaries) {
  expect_c(R"(param N
input a: bf16[N], b: i8[N], u: u8[N]
output c: bf16[N], d: i32[N], e: f16[N]
temp t: f32[N]
for i in range(N):
    t[i] = sigmoid(a[i]) + erf(a[i])
for i in range(N):
    c[i] = t[i] * 2
    d[i] = b[i] * b[i] + u[i]
    e[i] = max(t[i], 0.5)
)",
           "", {19});
}

TEST(CFromKernel, FloatsOfEightBits) {
  expect_c(R"(param N
input a: f8e4m3[N], b: f8e5m2[N], x: f32[N], y: f64[N]
output c: f8e5m2[N], d: f8e4m3[N], e: f8e4m3[N], f: f8e5m2[N]
for i in range(N):
    c[i] = a[i] * 0.001 + b[i] * 0.00002
    d[i] = b[i] * 700 - a[i]
    e[i] = x[i] * x[i] * 0.01
    f[i] = y[i] * 0.3
)",
           "", {500});
}

TEST(CFromKernel, NamesThatMeanSomethingInC) {
  expect_c(R"(param double, exp
input int: f32[double], y1: f32[double]
output free: f32[double]
for for_ in range(double):
    free[for_] = exp(int[for_]) + y1[for_]
)",
           "split(for_, 4)", {10, 1});
}

TEST(CFromKernel, AFunctionOfTheLibraryKeepsItsName) {
  const line::Line made = line::compile("param N\noutput b: f32[N]\nb[j] = 1\n");
  for (const char* name : {"div", "abs", "select", "round"})
    EXPECT_EQ(emit::c_from_kernel(made.kernel, {.function = name}).function,
              std::string(name) + "_");
}

TEST(CFromKernel, DivisionsIn32Bits) {
  expect_c(R"(param N
input a: f32[40]
output b: f32[203]
for j in range(203):
    b[j] = a[(j*7 + 11) % 37] + a[(j - 100) % 13] + a[(100 - j) // 7 + 15]
)",
           "", {0});
}

TEST(CFromKernel, IntegersOf64BitsWrap) {
  const std::string text = "param N\ninput a: i64[N], b: i64[N]\noutput y: i64[N]\n"
                           "for i in range(N):\n    y[i] = max(a[i] + b[i] * 3, -a[i]) - b[i]\n";
  expect_c(text, "", {50});
  const std::string made = emit::c_from_kernel(line::compile(text, "").kernel, {}).text;
  EXPECT_NE(made.find("(int64_t)((uint64_t)a[i] + (uint64_t)"), std::string::npos) << made;
  EXPECT_NE(made.find("0 - (uint64_t)a[i]"), std::string::npos) << made;
  EXPECT_EQ(made.find("(uint64_t)i"), std::string::npos) << "positions do not wrap";
}

} // namespace
} // namespace kawara
