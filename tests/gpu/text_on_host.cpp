#include "text_on_host.h"

#include "emit/cuda/expr.h"
#include "emit/unit.h"
#include "kernel/async_ops.h"
#include "kernel/walk.h"
#include "support/text.h"

#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kawara::operator_models {
namespace {

namespace fs = std::filesystem;

/// What CUDA has and C++ has not. Threads are contexts; one runs until it waits for others, then
/// the next.
constexpr const char* kShim = R"(#define __CUDACC_RTC__
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <vector>
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
struct kw_place { unsigned x, y, z; };
static kw_place threadIdx, blockIdx, blockDim, gridDim;
struct kw_thread { ucontext_t at; kw_place place; bool is_done; long long slot; };
static std::vector<kw_thread> kw_threads;
static ucontext_t kw_home;
static size_t kw_now;
static void (*kw_body)();
static void kw_enter() { kw_body(); kw_threads[kw_now].is_done = true; }
static void __syncthreads() { swapcontext(&kw_threads[kw_now].at, &kw_home); }
template <class T> T __shfl_xor_sync(unsigned, T value, int far, int) {
  memcpy(&kw_threads[kw_now].slot, &value, sizeof value);
  __syncthreads();
  memcpy(&value, &kw_threads[kw_now ^ (size_t)far].slot, sizeof value);
  __syncthreads();
  return value;
}
static void kw_run_block() {
  const size_t count = (size_t)blockDim.x * blockDim.y * blockDim.z, stack = 1 << 18;
  std::vector<std::vector<char>> stacks(count, std::vector<char>(stack));
  kw_threads.assign(count, {});
  for (size_t k = 0; k < count; ++k) {
    kw_thread& thread = kw_threads[k];
    thread.place = {(unsigned)(k % blockDim.x), (unsigned)(k / blockDim.x % blockDim.y),
                    (unsigned)(k / blockDim.x / blockDim.y)};
    getcontext(&thread.at);
    thread.at.uc_stack.ss_sp = stacks[k].data();
    thread.at.uc_stack.ss_size = stack;
    thread.at.uc_link = &kw_home;
    makecontext(&thread.at, kw_enter, 0);
  }
  for (size_t left = count; left > 0;)
    for (kw_now = 0, left = 0; kw_now < count; ++kw_now)
      if (!kw_threads[kw_now].is_done) {
        ++left;
        threadIdx = kw_threads[kw_now].place;
        swapcontext(&kw_home, &kw_threads[kw_now].at);
      }
}
static void kw_launch(kw_place blocks, kw_place threads, void (*body)()) {
  gridDim = blocks, blockDim = threads, kw_body = body;
  for (blockIdx.z = 0; blockIdx.z < blocks.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < blocks.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < blocks.x; ++blockIdx.x)
        kw_run_block();
}
template <class T> static T min(T a, T b) { return b < a ? b : a; }
template <class T> static T max(T a, T b) { return a < b ? b : a; }
template <class To, class From> static To kw_bits(From x) { To y; memcpy(&y, &x, sizeof y); return y; }
static double __longlong_as_double(long long x) { return kw_bits<double>(x); }
static float __uint_as_float(unsigned x) { return kw_bits<float>(x); }
static unsigned __float_as_uint(float x) { return kw_bits<unsigned>(x); }
template <class To, class From> static To kw_whole(From x, From end) {
  return x != x ? 0 : x >= end ? (To)~((unsigned long long)1 << (sizeof(To) * 8 - 1))
                   : x <= -end ? (To)((unsigned long long)1 << (sizeof(To) * 8 - 1)) : (To)x;
}
static int __float2int_rz(float x) { return kw_whole<int>(x, 0x1p31f); }
static int __double2int_rz(double x) { return kw_whole<int>(x, 0x1p31); }
static long long __float2ll_rz(float x) { return kw_whole<long long>(x, 0x1p63f); }
static long long __double2ll_rz(double x) { return kw_whole<long long>(x, 0x1p63); }
static unsigned long long __double2ull_rz(double x) { return !(x > 0) ? 0 : x >= 0x1p64 ? ~0ull : (unsigned long long)x; }
static unsigned long long __float2ull_rz(float x) { return __double2ull_rz(x); }

)";

std::vector<const kernel::Launch*> launches_of(const kernel::Kernel& kernel) {
  std::vector<const kernel::Launch*> found;
  for (const kernel::Stmt& stmt : kernel.body)
    if (const auto* launch = std::get_if<kernel::Launch>(&stmt))
      found.push_back(launch);
  return found;
}

int64_t bytes_of(const kernel::Buffer& buffer) {
  int64_t bytes = scalar::bytes_of(buffer.elem);
  for (const int64_t extent : kernel::extents_of(buffer, {}))
    bytes *= extent;
  return bytes;
}

/// A folder that goes when this does.
class Scratch {
public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "kawara_text_XXXXXX").string();
    path_ = mkdtemp(name.data()) != nullptr ? name : "";
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
  std::string path_;
};

/// The text with a function around it that reads arguments from a file, runs all launches, and
/// writes them back.
std::string host_text(const driver::GpuProgram& program) {
  const kernel::Kernel& kernel = program.kernel;
  const auto name = [](uint32_t buffer) { return "kw_memory_" + std::to_string(buffer); };
  std::string globals, reads, writes, runs;
  const auto reserve = [&](uint32_t b) {
    globals += fmt::format("static void* {};\n", name(b));
    reads += fmt::format("  {} = aligned_alloc(256, ({} / 256 + 2) * 256);\n", name(b),
                         bytes_of(kernel.buffers[b]));
  };
  for (const emit::BufferInfo& argument : emit::signature_of(kernel).arguments) {
    const int64_t bytes = bytes_of(kernel.buffers[argument.id]);
    reserve(argument.id);
    reads +=
        fmt::format("  if (fread({0}, 1, {1}, in) != {1}) return 2;\n", name(argument.id), bytes);
    writes +=
        fmt::format("  if (fwrite({0}, 1, {1}, out) != {1}) return 2;\n", name(argument.id), bytes);
  }
  for (uint32_t b = 0; b < kernel.buffers.size(); ++b)
    if (kernel.buffers[b].scope == kernel::Scope::Workspace)
      reserve(b);
  const std::vector<const kernel::Launch*> launches = launches_of(kernel);
  for (size_t k = 0; k < launches.size(); ++k) {
    const emit::CudaLaunch& passed = program.unit.launches[k];
    std::vector<std::string> arguments;
    for (const uint32_t b : passed.buffers)
      arguments.push_back(fmt::format("({}*){}", emit::cuda_type(kernel.buffers[b].elem), name(b)));
    const auto blocks = [&](size_t a) {
      return *scalar::constant_of(scalar::simplify(launches[k]->blocks[a]));
    };
    runs +=
        fmt::format("  kw_launch({{{}, {}, {}}}, {{{}, {}, {}}}, [] {{ {}({}); }});\n", blocks(0),
                    blocks(1), blocks(2), launches[k]->threads[0], launches[k]->threads[1],
                    launches[k]->threads[2], passed.name, join(arguments, ", "));
  }
  return kShim + program.unit.text + globals + "int main(int, char** names) {\n" +
         "  FILE* in = fopen(names[1], \"rb\");\n" + reads + runs +
         "  FILE* out = fopen(names[2], \"wb\");\n" + writes + "  return fclose(out);\n}\n";
}

/// Empty when the command succeeds.
std::string failure_of(const std::string& command, const std::string& log) {
  const int status = std::system((command + " > " + log + " 2>&1").c_str());
  if (status == 0)
    return "";
  std::ifstream in(log);
  std::string said(std::istreambuf_iterator<char>(in), {});
  return fmt::format("exit {}: {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                     said.substr(0, 2000));
}

} // namespace

bool has_host_compiler() { return std::system("c++ --version > /dev/null 2>&1") == 0; }

bool is_text_for_host(const driver::GpuProgram& program) {
  for (const kernel::Buffer& buffer : program.kernel.buffers)
    if (emit::is_cuda_struct(buffer.elem))
      return false;
  const auto is_constant = [](const scalar::Expr& e) {
    return scalar::constant_of(scalar::simplify(e)).has_value();
  };
  const std::vector<const kernel::Launch*> launches = launches_of(program.kernel);
  for (const kernel::Launch* launch : launches)
    if (!is_constant(launch->blocks[0]) || !is_constant(launch->blocks[1]) ||
        !is_constant(launch->blocks[2]) || kernel::has_async_op(launch->body))
      return false;
  for (const emit::CudaLaunch& launch : program.unit.launches)
    if (launch.is_dynamic || !launch.params.empty() || !launch.variables.empty())
      return false;
  for (const char* word :
       {"cp.async", "prefetch.global", "ld.global", ".approx", ".rn.", "wgmma", "kw_gelu"})
    if (program.unit.text.find(word) != std::string::npos)
      return false;
  return launches.size() == program.unit.launches.size() &&
         launches.size() == program.kernel.body.size();
}

Result<std::vector<program::Array>, std::string>
results_of_text(const driver::GpuProgram& program, std::vector<program::Array> arguments) {
  const Scratch folder;
  std::ofstream(folder / "text.cpp") << host_text(program);
  {
    std::ofstream in(folder / "in", std::ios::binary);
    for (const program::Array& array : arguments)
      in.write(reinterpret_cast<const char*>(array.data()),
               static_cast<std::streamsize>(array.bytes()));
  }
  const std::string compile = fmt::format(
      "c++ -std=c++17 -O1 -w -fsanitize=undefined -fsanitize-undefined-trap-on-error -o {} {}",
      folder / "run", folder / "text.cpp");
  if (const std::string problem = failure_of(compile, folder / "log"); !problem.empty())
    return fail("a compiler refuses the text: " + problem);
  const std::string run = fmt::format("{} {} {}", folder / "run", folder / "in", folder / "out");
  if (const std::string problem = failure_of(run, folder / "log"); !problem.empty())
    return fail("the text traps: " + problem + program.unit.text);
  std::ifstream out(folder / "out", std::ios::binary);
  for (program::Array& array : arguments)
    if (!out.read(reinterpret_cast<char*>(array.data()),
                  static_cast<std::streamsize>(array.bytes())))
      return fail(std::string("the text gives too little"));
  return arguments;
}

} // namespace kawara::operator_models
