// Runs programs on the GPU of this machine, one after the other in one process: what sanitize.py
// puts under compute-sanitizer, whose start takes longer than a small kernel.
//
//   gpu_kernels LIST    lines: NAME PROGRAM.kw SIZES check|run; SIZES as M=3,N=4, or - for none
//
// Default schedules, inputs of a fixed pattern; `check` compares with the interpreter. Says `begin
// NAME` before each and `end NAME right|done|wrong ...` after it, so that what a tool says in
// between is told apart.

#include "driver/gpu/gpu.h"
#include "driver/session.h"
#include "driver/target_choice.h"
#include "program/interpret/interpret.h"
#include "run/cuda/device.h"

#include <fmt/core.h>

#include <fstream>
#include <sstream>

namespace kawara {
namespace {

struct GpuJob {
  std::string name;
  driver::Request request;
  bool is_checked = false;
};

std::vector<GpuJob> read_jobs(const std::string& path) {
  std::vector<GpuJob> jobs;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name, program, sizes, what;
    words >> name >> program >> sizes >> what;
    std::ostringstream text;
    text << std::ifstream(program).rdbuf();
    GpuJob job{name, {}, what == "check"};
    job.request.text = make_source(name + ".kw", text.str());
    job.request.directives = make_source("-s", "auto");
    std::istringstream parts(sizes == "-" ? "" : sizes);
    for (std::string part; std::getline(parts, part, ',');)
      job.request.sizes[part.substr(0, part.find('='))] =
          std::stoll(part.substr(part.find('=') + 1));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// "right", "done" where nothing was compared, or what is wrong.
Parsed<std::string> outcome_of(const GpuJob& job, const schedule::Environment& environment) {
  Trace trace{{}};
  KAWARA_TRY(const program::Program program, driver::program_of(job.request));
  KAWARA_TRY(const std::vector<int64_t> sizes, driver::all_sizes(program, job.request));
  KAWARA_TRY(const program::Arrays inputs, driver::inputs_for(program, sizes, {}));
  KAWARA_TRY(const driver::CompiledForGpu compiled,
             driver::compile_for_gpu(job.request, environment, trace));
  KAWARA_TRY(const program::Arrays got, driver::call(compiled, sizes, inputs));
  if (!job.is_checked)
    return std::string("done");
  const auto expected = program::interpret(program, sizes, inputs);
  if (!expected)
    return fail(Diagnostics{expected.error()});
  const driver::Difference difference = driver::compare(got, *expected);
  const double allowed = driver::tolerance_of(program, sizes);
  if (difference.worst <= allowed)
    return std::string("right");
  return fmt::format("wrong by {} instead of {}", difference.worst, allowed);
}

int run_jobs(const std::string& list) {
  // The device stays open from one program to the next.
  const auto device = run::CudaDevice::open();
  const auto environment = driver::environment_for("cuda");
  if (!device || !environment) {
    fmt::print("no GPU on this machine\n");
    return 77;
  }
  int wrong = 0;
  for (const GpuJob& job : read_jobs(list)) {
    fmt::print("begin {}\n", job.name);
    std::fflush(stdout);
    const auto outcome = outcome_of(job, *environment);
    const std::string text = outcome ? *outcome : render(outcome.error());
    wrong += text == "right" || text == "done" ? 0 : 1;
    fmt::print("end {} {}\n", job.name, text);
    std::fflush(stdout);
  }
  return wrong == 0 ? 0 : 1;
}

} // namespace
} // namespace kawara

int main(int count, char** words) {
  if (count != 2) {
    fmt::print("usage: gpu_kernels LIST\n");
    return 2;
  }
  return kawara::run_jobs(words[1]);
}
