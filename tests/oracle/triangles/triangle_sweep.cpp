// triangles [--seeds A..B | --count N] [--jobs N] [--seconds S] [--times] [--other-cpus EVERY]
// [--program-only]
//
// Draws one program over triangles, trapezoids or bands per seed (triangle.h), compiles it with
// `auto` and runs it at several sizes. Results are compared with a run as it is written
// (triangle_reference.h) and with the interpreter. Every EVERYth program (default: 5) is also made
// for another processor, and its kernel interpreted. Each program runs in a process of its own, N
// of them (default: 1) at a time, so that one that dies or takes more than S seconds of a processor
// (default: 20) is counted and the others run. What is printed comes in the order of seeds,
// whatever N is. The last line counts; --times says before it which programs took longest. The exit
// code is 1 when anything was wrong.

#include "oracle/triangles/triangle_sweep.h"

#include "driver/session.h"
#include "emit/unit.h"
#include "kernel/analysis/extents.h"
#include "kernel/interpret/interpret.h"
#include "kernel/passes.h"
#include "oracle/triangles/triangle_reference.h"
#include "program/interpret/interpret.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kawara::oracle {
namespace {

struct TriangleOptions {
  uint64_t first = 1, last = 200;
  uint64_t other_every = 5;
  uint64_t jobs = 1;
  uint64_t seconds = 20; ///< of a processor, for one program: nobody waits longer
  bool program_only = false, has_times = false;
};

/// How one program ended.
enum class End : int { Right = 0, Wrong = 1, Refused = 2 };

bool parse_triangle_arguments(int argc, char** argv, TriangleOptions& options) {
  for (int a = 1; a < argc; ++a) {
    const std::string word = argv[a];
    if (word == "--program-only" || word == "--times") {
      (word == "--times" ? options.has_times : options.program_only) = true;
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
    } else if (word == "--jobs") {
      options.jobs = std::max<uint64_t>(1, number);
    } else if (word == "--seconds") {
      options.seconds = std::max<uint64_t>(1, number);
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
        return cpu.name + " at " + program::shape_text(sizes) + ": " + *wrong + "\n" +
               blamed(*front, cpu, sizes);
    return std::nullopt;
  }

  /// What is wrong with the kernel when every access and every element is looked at.
  std::optional<std::string> interpreted(const kernel::Kernel& kernel,
                                         const std::vector<int64_t>& sizes) const {
    const program::Arrays given = inputs(sizes);
    std::vector<kernel::Elements> arguments;
    for (const kernel::Buffer& buffer : kernel.buffers) {
      if (buffer.scope != kernel::Scope::Argument)
        continue;
      kernel::Elements& elements = arguments.emplace_back();
      if (const auto found = given.find(buffer.name); found != given.end())
        for (int64_t at = 0; at < found->second.elements(); ++at)
          elements.push_back(found->second.get(at));
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
      for (int64_t at = 0; at < array.elements(); ++at)
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
      for (size_t c = 0; c < start.elements.size(); ++c)
        array.set_double(static_cast<int64_t>(c), start.elements[c].value);
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
      for (size_t c = 0; c < expected[t].elements.size(); ++c) {
        const double want = expected[t].elements[c].value,
                     have = array.get_double(static_cast<int64_t>(c));
        constexpr double kRoundings = 64;
        const double allowed =
            is_exact ? 0 : kRoundings * rounding_of(tensor.elem) * expected[t].elements[c].size;
        if (want == have || (std::isnan(want) && std::isnan(have)) ||
            std::abs(want - have) <= allowed || !std::isfinite(expected[t].elements[c].size * 16))
          continue;
        return tensor.name + ", element " + std::to_string(c) + ": " + std::to_string(have) +
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

/// What is wrong goes to `said`.
End check_triangle(uint64_t seed, const TriangleOptions& options, std::string& said) {
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
  said = (check.is_refused() ? "refused at seed " : "wrong at seed ") + std::to_string(seed) +
         "\n\n" + text_of(program) + "\n" + *wrong + "\n\n";
  return check.is_refused() ? End::Refused : End::Wrong;
}

struct TriangleCounts {
  uint64_t right = 0, wrong = 0, refused = 0, died = 0;
  std::vector<std::pair<double, uint64_t>> times; ///< seconds of a processor, seed
};

/// A program on its way, in a process of its own.
struct TriangleJob {
  uint64_t seed = 0;
  pid_t process = 0;
  int from = -1; ///< what it says
  std::string said = {};
  bool is_finished = false;
  int status = 0;
  double seconds = 0;
};

void write_all(int to, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(to, text.data() + at, text.size() - at);
    if (written <= 0)
      _exit(static_cast<int>(End::Wrong));
    at += static_cast<size_t>(written);
  }
}

TriangleJob started(uint64_t seed, const TriangleOptions& options) {
  int ends[2];
  if (pipe(ends) != 0)
    throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0)
    throw std::runtime_error("no process");
  if (child == 0) {
    close(ends[0]);
    const rlimit limit{options.seconds, options.seconds + 1};
    setrlimit(RLIMIT_CPU, &limit);
    std::string said;
    const End end = check_triangle(seed, options, said);
    write_all(ends[1], said);
    _exit(static_cast<int>(end));
  }
  close(ends[1]);
  return {.seed = seed, .process = child, .from = ends[0]};
}

/// Reads what a job says, or how it ended once it has said all.
void advance(TriangleJob& job) {
  char block[4096];
  const ssize_t got = read(job.from, block, sizeof block);
  if (got > 0) {
    job.said.append(block, static_cast<size_t>(got));
    return;
  }
  close(job.from);
  rusage used{};
  wait4(job.process, &job.status, 0, &used);
  job.seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
  job.is_finished = true;
}

void report(const TriangleJob& job, uint64_t most_seconds, TriangleCounts& counts) {
  counts.times.emplace_back(job.seconds, job.seed);
  const int end = WIFEXITED(job.status) ? WEXITSTATUS(job.status) : -1;
  if (end == static_cast<int>(End::Right)) {
    ++counts.right;
  } else if (!job.said.empty()) {
    ++(end == static_cast<int>(End::Refused) ? counts.refused : counts.wrong);
    std::printf("%s", job.said.c_str());
  } else {
    ++counts.died;
    const bool is_late = WIFSIGNALED(job.status) && WTERMSIG(job.status) == SIGXCPU;
    const std::string how = is_late ? "took over " + std::to_string(most_seconds) + " seconds"
                                    : "ended with status " + std::to_string(job.status);
    std::printf("the process %s at seed %llu\n\n%s\n", how.c_str(),
                static_cast<unsigned long long>(job.seed),
                text_of(random_triangle(job.seed)).c_str());
  }
  std::fflush(stdout);
}

TriangleCounts run_all(const TriangleOptions& options) {
  TriangleCounts counts;
  std::deque<TriangleJob> jobs; // from the first that is not reported to the last that is started
  uint64_t next = options.first, running = 0;
  while (next <= options.last || !jobs.empty()) {
    for (; running < options.jobs && next <= options.last; ++running)
      jobs.push_back(started(next++, options));
    std::vector<pollfd> ready;
    std::vector<TriangleJob*> waiting;
    for (TriangleJob& job : jobs)
      if (!job.is_finished) {
        ready.push_back({job.from, POLLIN, 0});
        waiting.push_back(&job);
      }
    poll(ready.data(), ready.size(), -1);
    for (size_t r = 0; r < ready.size(); ++r)
      if (ready[r].revents != 0) {
        advance(*waiting[r]);
        running -= waiting[r]->is_finished ? 1 : 0;
      }
    for (; !jobs.empty() && jobs.front().is_finished; jobs.pop_front())
      report(jobs.front(), options.seconds, counts);
  }
  return counts;
}

void print_times(TriangleCounts& counts) {
  std::sort(counts.times.begin(), counts.times.end());
  std::printf("median %.2f s; longest:", counts.times[counts.times.size() / 2].first);
  for (size_t k = 0; k < std::min<size_t>(10, counts.times.size()); ++k) {
    const auto& [seconds, seed] = counts.times[counts.times.size() - 1 - k];
    std::printf(" %.2f s at %llu", seconds, static_cast<unsigned long long>(seed));
  }
  std::printf("\n");
}

} // namespace

int triangles_program(int argc, char** argv) {
  TriangleOptions options;
  if (!parse_triangle_arguments(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: triangles [--seeds A..B | --count N] [--jobs N] [--seconds S] [--times] "
                 "[--other-cpus EVERY] [--program-only]\n");
    return 1;
  }
  if (options.program_only) {
    for (uint64_t seed = options.first; seed <= options.last; ++seed)
      std::printf("# seed %llu\n%s\n", static_cast<unsigned long long>(seed),
                  text_of(random_triangle(seed)).c_str());
    return 0;
  }
  TriangleCounts counts = run_all(options);
  if (options.has_times)
    print_times(counts);
  std::printf("%llu programs: %llu right, %llu wrong, %llu died, %llu refused as written\n",
              static_cast<unsigned long long>(options.last - options.first + 1),
              static_cast<unsigned long long>(counts.right),
              static_cast<unsigned long long>(counts.wrong),
              static_cast<unsigned long long>(counts.died),
              static_cast<unsigned long long>(counts.refused));
  return counts.wrong + counts.died == 0 ? 0 : 1;
}

} // namespace kawara::oracle
