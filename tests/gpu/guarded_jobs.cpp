#include "guarded_jobs.h"

#include "driver/gpu/gpu_model.h"
#include "driver/target_choice.h"

#include <fmt/core.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace kawara::operator_models {
namespace {

using graph::Tensor;

constexpr int kDeviceIsGone = 3, kNoDevice = 77;

/// What a child says before each job, and at its end.
struct Progress {
  size_t at = 0;
  JobTotals totals;
};

void say(int to, const Progress& progress) {
  [[maybe_unused]] const auto said = write(to, &progress, sizeof progress);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// What is wrong with a job, whatever it throws.
std::string tried(const GuardedJob& job, const std::shared_ptr<run::CudaDevice>& device,
                  JobTotals& totals) {
  try {
    return job.wrong_with(device, totals);
  } catch (const std::exception& e) {
    return std::string("throws: ") + e.what();
  }
}

/// One worker's jobs: those whose numbers it has, in order.
using JobNumbers = std::vector<size_t>;

/// Runs jobs from the `first` of its numbers on, and says where it is.
int run_jobs(const std::vector<GuardedJob>& jobs, const JobNumbers& mine, size_t first,
             const GuardOptions& options, int progress) {
  const auto begin = std::chrono::steady_clock::now();
  std::shared_ptr<run::CudaDevice> device;
  if (options.is_on_device) {
    auto opened = run::CudaDevice::open();
    if (!opened)
      return kNoDevice;
    device = *opened;
  }
  Progress now{first, {}};
  for (; now.at < mine.size() && seconds_since(begin) <= options.seconds; ++now.at) {
    say(progress, now);
    const GuardedJob& job = jobs[mine[now.at]];
    const std::string what = tried(job, device, now.totals);
    now.totals.wrong += what.empty() ? 0 : 1;
    if (what.empty())
      continue;
    fmt::print("wrong: {}: {}\n", job.name, what);
    std::fflush(stdout);
    if (what.find("K0713") == std::string::npos)
      continue;
    say(progress, now);
    return kDeviceIsGone; // nothing runs on a device after such an error
  }
  say(progress, now);
  return 0;
}

/// Runs all jobs of a worker, in as many children as it takes. Nothing without the device that is
/// asked for.
std::optional<JobTotals> work_off(const std::vector<GuardedJob>& jobs, const JobNumbers& mine,
                                  const GuardOptions& options) {
  JobTotals totals;
  for (size_t next = 0; next < mine.size();) {
    int ends[2];
    if (pipe(ends) != 0)
      throw std::runtime_error("no pipe");
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      const int code = run_jobs(jobs, mine, next, options, ends[1]);
      std::fflush(stdout);
      _exit(code);
    }
    close(ends[1]);
    Progress last{next, {}};
    for (Progress read_now; read(ends[0], &read_now, sizeof read_now) == sizeof read_now;)
      last = read_now;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == kNoDevice)
      return std::nullopt;
    totals.add(last.totals);
    if (code == 0)
      return totals;
    if (code != kDeviceIsGone) {
      fmt::print("wrong: {}: the process died\n", jobs[mine[last.at]].name);
      ++totals.wrong;
    }
    next = last.at + 1;
  }
  return totals;
}

/// A process that works off a part of the jobs, and where its totals will be.
struct Worker {
  pid_t process = -1;
  int totals = -1;
};

Worker start_worker(const std::vector<GuardedJob>& jobs, const JobNumbers& mine,
                    const GuardOptions& options) {
  int ends[2];
  if (pipe(ends) != 0)
    throw std::runtime_error("no pipe");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child != 0) {
    close(ends[1]);
    return {child, ends[0]};
  }
  close(ends[0]);
  const auto totals = work_off(jobs, mine, options);
  if (totals)
    say(ends[1], {0, *totals});
  std::fflush(stdout);
  _exit(totals ? 0 : kNoDevice);
}

} // namespace

void JobTotals::add(const driver::GpuPrograms& programs) {
  ++models;
  for (const auto& [text, program] : programs) {
    ++kernels;
    plain += program->is_scheduled ? 0 : 1;
    groups += program->unit.text.find("wgmma") != std::string::npos ? 1 : 0;
    longest_text = std::max(longest_text, static_cast<int64_t>(program->unit.text.size()));
  }
}

void JobTotals::add(const JobTotals& other) {
  for (const auto member :
       {&JobTotals::models, &JobTotals::kernels, &JobTotals::plain, &JobTotals::groups,
        &JobTotals::passed, &JobTotals::wrong, &JobTotals::refused, &JobTotals::elsewhere})
    this->*member += other.*member;
  longest_text = std::max(longest_text, other.longest_text);
}

int run_guarded(const std::vector<GuardedJob>& jobs, const GuardOptions& options) {
  const auto workers = static_cast<size_t>(std::max<int64_t>(1, options.processes));
  std::vector<JobNumbers> parts(workers);
  for (size_t k = 0; k < jobs.size(); ++k)
    parts[k % workers].push_back(k);
  std::vector<Worker> started;
  for (const JobNumbers& part : parts)
    started.push_back(start_worker(jobs, part, options));
  JobTotals totals;
  bool has_device = true;
  for (const Worker& worker : started) {
    Progress last;
    if (read(worker.totals, &last, sizeof last) == sizeof last)
      totals.add(last.totals);
    close(worker.totals);
    int status = 0;
    waitpid(worker.process, &status, 0);
    const bool is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    has_device = has_device && !(WIFEXITED(status) && WEXITSTATUS(status) == kNoDevice);
    totals.wrong += is_done || !has_device ? 0 : 1;
  }
  if (!has_device) {
    fmt::print("no GPU on this machine\n");
    return kNoDevice;
  }
  fmt::print("{} models, {} kernels, {} by warpgroups, {} in the order of their text, the longest "
             "text {} kB\n{} passed, {} for processors only, {} elsewhere likewise, {} wrong\n",
             totals.models, totals.kernels, totals.groups, totals.plain, totals.longest_text / 1000,
             totals.passed, totals.refused, totals.elsewhere, totals.wrong);
  return totals.wrong > 0 ? 1 : 0;
}

schedule::Environment environment_of(const std::shared_ptr<run::CudaDevice>& device) {
  schedule::Environment environment = *driver::environment_for("cuda:sm_90a");
  if (device)
    environment.gpu = device->gpu();
  return environment;
}

Result<std::vector<Tensor>, std::string>
results_on_device(const driver::Tape& tape, const driver::GpuPrograms& programs,
                  const std::map<std::string, run::Datum>& inputs,
                  const std::shared_ptr<run::CudaDevice>& device) {
  auto model = driver::GpuModel::make(tape, programs, device);
  if (!model)
    return fail(render({model.error()}));
  std::vector<run::Datum> given;
  for (const driver::Port& port : tape.inputs)
    given.push_back(inputs.at(port.name));
  std::vector<Tensor> results;
  for (const bool is_careful : {true, false}) {
    const auto got = model->run(given, is_careful);
    if (!got)
      return fail(render({got.error()}));
    std::vector<Tensor> again;
    for (const run::Datum& datum : *got)
      again.push_back(datum.tensor);
    for (size_t k = 0; k < results.size(); ++k)
      if (std::memcmp(again[k].data(), results[k].data(), static_cast<size_t>(again[k].bytes())) !=
          0)
        return fail(std::string("two runs differ"));
    results = std::move(again);
  }
  return results;
}

} // namespace kawara::operator_models
