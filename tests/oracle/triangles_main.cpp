// triangles [--seeds A..B | --count N] [--other-cpus EVERY] [--program-only]
//
// Draws one program over triangles, trapezoids or bands per seed (triangle.h), compiles it with `auto` and runs it at several
// sizes. Results are compared with a run as it is written (triangle_reference.h) and with the interpreter. Every EVERYth program
// (default: 5) is also made for another processor, and its kernel interpreted. Programs run in a process of their own, so that one
// that dies is counted and the next one runs. The last line counts; the exit code is 1 when anything was wrong.

#include "driver/session.h"
#include "emit/unit.h"
#include "kernel/extents.h"
#include "kernel/interpret.h"
#include "kernel/passes.h"
#include "oracle/triangle_reference.h"
#include "program/interpret.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>

#include <sys/wait.h>
#include <unistd.h>

namespace kawara::oracle {
namespace {

struct TriangleOptions {
  uint64_t first = 1, last = 200;
  uint64_t other_every = 5;
  bool program_only = false;
};

/// How one program ended.
enum class End : char { Right = 'r', Wrong = 'w', Refused = 'f' };

constexpr unsigned kMostSeconds = 300; ///< for one program

bool parse_triangle_arguments(int argc, char** argv, TriangleOptions& options) {
  for (int a = 1; a < argc; ++a) {
    const std::string word = argv[a];
    if (word == "--program-only") {
      options.program_only = true;
      continue;
    }
    if (a + 1 == argc)
      return false;
    char* rest = nullptr;
    const uint64_t number = std::strtoull(argv[++a], &rest, 10);
    if (word == "--seeds") {
      options.first = options.last = number;
      if (std::strncmp(rest, "..", 2) == 0)
        options.last = std::strtoull(rest + 2, &rest, 10);
    } else if (word == "--count") {
      options.last = options.first + number - 1;
    } else if (word == "--other-cpus") {
      options.other_every = std::max<uint64_t>(1, number);
    } else {
      return false;
    }
    if (*rest != '\0')
      return false;
  }
  return options.first <= options.last;
}

/// Rounding of the type that a tensor's numbers are kept in.
double rounding_of(const std::string& elem) {
  return elem == "f64" ? 0x1p-53 : elem == "bf16" ? 0x1p-8 : 0x1p-24;
}

class TriangleCheck {
public:
  TriangleCheck(const Triangle& program, uint64_t seed) : program_(program), seed_(seed) {}

  /// Nothing when all is right.
  std::optional<std::string> run(bool has_other_cpu) {
    request_.text = make_source("triangle.kw", text_of(program_));
    request_.directives = make_source("triangle.sched", "auto");
    const auto parsed = driver::program_of(request_);
    if (!parsed) {
      is_refused_ = true;
      return render(parsed.error());
    }
    if (auto wrong = on_this_machine())
      return wrong;
    const auto names = target::named_cpus();
    return has_other_cpu ? on_another(*target::named_cpu(names[seed_ / 5 % names.size()]))
                         : std::nullopt;
  }
  bool is_refused() const { return is_refused_; }

private:
  std::optional<std::string> on_this_machine() {
    const schedule::Environment machine = driver::host_environment();
    auto front = driver::schedule(request_, machine, trace_);
    if (!front)
      return "auto: " + render(front.error());
    auto kernel = kernel_for(*front, machine.cpu);
    if (!broken_.empty())
      return broken_;
    auto executable = run::load(emit::module_from_kernel(kernel));
    if (!executable)
      return render(executable.error());
    const driver::Compiled compiled{*std::move(front), std::move(kernel), *std::move(executable)};
    for (const auto& sizes : program_.sizes) {
      const std::vector<TriangleArray> expected = as_written(sizes);
      const auto meant = program::interpret(compiled.front.program, sizes, inputs(sizes));
      if (!meant)
        return "the interpreter: " + render(meant.error());
      if (auto wrong = difference(*meant, expected, false))
        return "the interpreter at " + program::shape_text(sizes) + ": " + *wrong;
      const auto got = driver::call(compiled, sizes, inputs(sizes));
      if (!got)
        return "the call at " + program::shape_text(sizes) + ": " + render(got.error());
      if (auto wrong = difference(*got, expected, true))
        return "at " + program::shape_text(sizes) + ": " + *wrong + "\n" +
               blamed(compiled.front, machine.cpu, sizes);
    }
    return std::nullopt;
  }

  std::optional<std::string> on_another(const target::Cpu& cpu) {
    schedule::Environment machine;
    machine.cpu = cpu;
    auto front = driver::schedule(request_, machine, trace_);
    if (!front)
      return "auto for " + cpu.name + ": " + render(front.error());
    const kernel::Kernel kernel = kernel_for(*front, cpu);
    if (!broken_.empty())
      return cpu.name + ": " + broken_;
    for (const auto& sizes : program_.sizes)
      if (auto wrong = interpreted(kernel, sizes))
        return cpu.name + " at " + program::shape_text(sizes) + ": " + *wrong;
    return std::nullopt;
  }

  /// What is wrong with the kernel when every access and every cell is looked at.
  std::optional<std::string> interpreted(const kernel::Kernel& kernel,
                                         const std::vector<int64_t>& sizes) const {
    const program::Arrays given = inputs(sizes);
    std::vector<kernel::Cells> arguments;
    for (const kernel::Buffer& buffer : kernel.buffers) {
      if (buffer.scope != kernel::Scope::Argument)
        continue;
      kernel::Cells& cells = arguments.emplace_back();
      if (const auto found = given.find(buffer.name); found != given.end())
        for (int64_t at = 0; at < found->second.cells(); ++at)
          cells.push_back(found->second.get(at));
    }
    const auto done = kernel::interpret(kernel, sizes, arguments, {.seed = seed_});
    if (!done)
      return done.error();
    program::Arrays results;
    size_t next = 0;
    for (const kernel::Buffer& buffer : kernel.buffers) {
      if (buffer.scope != kernel::Scope::Argument)
        continue;
      program::Array array(buffer.elem, kernel::extents_of(buffer, sizes));
      for (int64_t at = 0; at < array.cells(); ++at)
        array.set(at, arguments[next][static_cast<size_t>(at)]);
      ++next;
      results.emplace(buffer.name, std::move(array));
    }
    return difference(results, as_written(sizes), true);
  }

  /// The first pass after which the kernel is wrong, and the kernels before and after it.
  std::string blamed(const driver::Scheduled& front, const target::Cpu& cpu,
                     const std::vector<int64_t>& sizes) {
    const kernel::Kernel loops = driver::kernel_of(front, trace_);
    if (const auto wrong = interpreted(loops, sizes))
      return "the loops are wrong: " + *wrong + "\n" + kernel::print(loops);
    std::string before = kernel::print(loops), found;
    kernel::optimise(loops, cpu, [&](std::string_view pass, const kernel::Kernel& kernel) {
      if (!found.empty())
        return;
      if (const auto wrong = interpreted(kernel, sizes))
        found = std::string(pass) + ": " + *wrong + "\n" + before + "\n" + kernel::print(kernel);
      before = kernel::print(kernel);
    });
    return found.empty() ? "no pass is wrong, the machine code is" : "wrong since " + found;
  }

  /// The kernel, in good order after every pass.
  kernel::Kernel kernel_for(const driver::Scheduled& front, const target::Cpu& cpu) {
    return kernel::optimise(driver::kernel_of(front, trace_), cpu,
                            [&](std::string_view pass, const kernel::Kernel& kernel) {
                              const auto broken = kernel::spec(kernel);
                              if (broken_.empty() && !broken.empty())
                                broken_ = "the kernel after " + std::string(pass) +
                                          " is malformed: " + broken.front();
                            });
  }

  std::vector<TriangleArray> as_written(const std::vector<int64_t>& sizes) const {
    std::vector<TriangleArray> arrays;
    for (size_t t = 0; t < program_.tensors.size(); ++t)
      arrays.push_back(start_of(program_, t, sizes, seed_));
    run_as_written(program_, sizes, arrays);
    return arrays;
  }

  program::Arrays inputs(const std::vector<int64_t>& sizes) const {
    program::Arrays given;
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      const TriangleTensor& tensor = program_.tensors[t];
      if (tensor.role != "input" && tensor.role != "inout")
        continue;
      const TriangleArray start = start_of(program_, t, sizes, seed_);
      program::Array array(*scalar::elem_from_name(tensor.elem), start.shape);
      for (size_t c = 0; c < start.cells.size(); ++c)
        array.set_double(static_cast<int64_t>(c), start.cells[c].value);
      given.emplace(tensor.name, std::move(array));
    }
    return given;
  }

  /// The contract may leave roundings open; whole numbers have none.
  std::optional<std::string> difference(const program::Arrays& got,
                                        const std::vector<TriangleArray>& expected,
                                        bool may_round) const {
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      const TriangleTensor& tensor = program_.tensors[t];
      if (tensor.role != "output" && tensor.role != "inout")
        continue;
      const program::Array& array = got.at(tensor.name);
      const bool is_exact = !may_round || program_.numerics == "exact" || tensor.elem[0] == 'i';
      for (size_t c = 0; c < expected[t].cells.size(); ++c) {
        const double want = expected[t].cells[c].value,
                     have = array.get_double(static_cast<int64_t>(c));
        constexpr double kRoundings = 64;
        const double allowed =
            is_exact ? 0 : kRoundings * rounding_of(tensor.elem) * expected[t].cells[c].size;
        if (want == have || (std::isnan(want) && std::isnan(have)) ||
            std::abs(want - have) <= allowed || !std::isfinite(expected[t].cells[c].size * 16))
          continue;
        return tensor.name + ", cell " + std::to_string(c) + ": " + std::to_string(have) +
               " instead of " + std::to_string(want);
      }
    }
    return std::nullopt;
  }

  const Triangle& program_;
  uint64_t seed_;
  driver::Request request_;
  Trace trace_;
  std::string broken_;
  bool is_refused_ = false;
};

End check_triangle(uint64_t seed, const TriangleOptions& options) {
  const Triangle program = random_triangle(seed);
  TriangleCheck check(program, seed);
  std::optional<std::string> wrong;
  try {
    wrong = check.run(seed % options.other_every == 0);
  } catch (const std::exception& error) {
    wrong = std::string("stopped by an error: ") + error.what();
  }
  if (!wrong)
    return End::Right;
  std::printf("%s at seed %llu\n\n%s\n%s\n\n", check.is_refused() ? "refused" : "wrong",
              static_cast<unsigned long long>(seed), text_of(program).c_str(), wrong->c_str());
  std::fflush(stdout);
  return check.is_refused() ? End::Refused : End::Wrong;
}

struct TriangleCounts {
  uint64_t right = 0, wrong = 0, refused = 0, died = 0;
};

/// Runs programs from `first` on in a process of its own, which says how each ended. The first that it did not come to.
uint64_t run_apart(uint64_t first, const TriangleOptions& options, TriangleCounts& counts) {
  int ends[2];
  if (pipe(ends) != 0)
    throw std::runtime_error("no pipe");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    for (uint64_t seed = first; seed <= options.last; ++seed) {
      alarm(kMostSeconds);
      const char end = static_cast<char>(check_triangle(seed, options));
      if (write(ends[1], &end, 1) != 1)
        _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  uint64_t next = first;
  for (char end = 0; read(ends[0], &end, 1) == 1; ++next)
    ++(end == static_cast<char>(End::Right)   ? counts.right
       : end == static_cast<char>(End::Wrong) ? counts.wrong
                                              : counts.refused);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (next <= options.last) {
    ++counts.died;
    std::printf("the process ended with status %d at seed %llu\n\n%s\n", status,
                static_cast<unsigned long long>(next), text_of(random_triangle(next)).c_str());
    ++next;
  }
  return next;
}

} // namespace
} // namespace kawara::oracle

int main(int argc, char** argv) {
  using namespace kawara::oracle;
  TriangleOptions options;
  if (!parse_triangle_arguments(argc, argv, options)) {
    std::fprintf(stderr, "usage: triangles [--seeds A..B | --count N] [--other-cpus EVERY] "
                         "[--program-only]\n");
    return 1;
  }
  if (options.program_only) {
    for (uint64_t seed = options.first; seed <= options.last; ++seed)
      std::printf("# seed %llu\n%s\n", static_cast<unsigned long long>(seed),
                  text_of(random_triangle(seed)).c_str());
    return 0;
  }
  TriangleCounts counts;
  for (uint64_t seed = options.first; seed <= options.last;)
    seed = run_apart(seed, options, counts);
  std::printf("%llu programs: %llu right, %llu wrong, %llu died, %llu refused as written\n",
              static_cast<unsigned long long>(options.last - options.first + 1),
              static_cast<unsigned long long>(counts.right),
              static_cast<unsigned long long>(counts.wrong),
              static_cast<unsigned long long>(counts.died),
              static_cast<unsigned long long>(counts.refused));
  return counts.wrong + counts.died == 0 ? 0 : 1;
}
