#include "tune/measure/pool.h"

#include <algorithm>
#include <cmath>
#include <poll.h>

namespace kawara::tune {

/// A candidate on its way.
struct Pool::Job {
  uint32_t id = 0;
  std::string directives;
  enum class State { Waiting, Preparing, Prepared, Finished } state = State::Waiting;
  size_t worker = 0;
  Measured result;
};

Pool::Pool(MakeBench make, int workers, const Limits& limits)
    : make_(std::move(make)), count_(std::max(workers, 1)), limits_(limits) {}

Parsed<Done> Pool::start() {
  workers_.clear();
  for (int k = 0; k < count_; ++k) {
    auto worker = Worker::start(make_, limits_);
    if (!worker && workers_.empty()) {
      Diagnostic d;
      d.code = "K0606";
      d.headline = "the default schedule cannot be measured";
      d.body.push_back("The system cannot make another process.");
      return fail(Diagnostics{std::move(d)});
    }
    if (worker)
      workers_.push_back(*std::move(worker));
  }
  for (Worker& worker : workers_) {
    KAWARA_TRY([[maybe_unused]] const Done done, worker.await_start());
  }
  return Done{};
}

void Pool::replace(size_t worker, std::vector<Job>& jobs) {
  ++restarts_;
  for (Job& job : jobs)
    if (job.worker == worker && job.state == Job::State::Prepared)
      job.state = Job::State::Waiting;
  auto fresh = Worker::start(make_, limits_);
  if (fresh && fresh->await_start())
    workers_[worker] = *std::move(fresh);
}

void Pool::prepare(std::vector<Job>& jobs, const Watch& watch) {
  std::vector<Job*> busy(workers_.size(), nullptr);
  while (true) {
    for (size_t w = 0; w < workers_.size(); ++w) {
      if (busy[w] != nullptr || !workers_[w].is_alive())
        continue;
      const auto next = std::find_if(jobs.begin(), jobs.end(), [](const Job& job) {
        return job.state == Job::State::Waiting;
      });
      if (next == jobs.end() || (watch.is_over && watch.is_over()))
        break;
      next->state = Job::State::Preparing;
      next->worker = w;
      workers_[w].ask_prepare(next->id, next->directives);
      busy[w] = &*next;
    }
    std::vector<pollfd> ready;
    std::vector<size_t> who;
    double patience = limits_.prepare_seconds;
    for (size_t w = 0; w < workers_.size(); ++w)
      if (busy[w] != nullptr) {
        ready.push_back({workers_[w].descriptor(), POLLIN, 0});
        who.push_back(w);
        patience = std::min(patience, workers_[w].patience());
      }
    if (who.empty())
      return;
    ::poll(ready.data(), ready.size(), static_cast<int>(std::ceil(patience * 1000)));
    for (size_t k = 0; k < who.size(); ++k) {
      Worker& worker = workers_[who[k]];
      if (ready[k].revents == 0 && worker.patience() > 0)
        continue;
      Job& job = *std::exchange(busy[who[k]], nullptr);
      const Prepared answer = worker.prepared();
      job.result.outcome = answer.outcome;
      job.result.reason = answer.reason;
      job.state = answer.outcome == Outcome::Measured ? Job::State::Prepared : Job::State::Finished;
      if (job.state == Job::State::Finished && watch.answer)
        watch.answer(static_cast<size_t>(&job - jobs.data()), job.result);
      if (!worker.is_alive())
        replace(who[k], jobs);
    }
  }
}

void Pool::time(std::vector<Job>& jobs, const Effort& effort, const Watch& watch) {
  for (size_t k = 0; k < jobs.size(); ++k) {
    Job& job = jobs[k];
    if (job.state != Job::State::Prepared)
      continue;
    Worker& worker = workers_[job.worker];
    worker.ask_time(job.id, effort);
    auto samples = worker.samples();
    job.state = Job::State::Finished;
    if (samples) {
      job.result = {Outcome::Measured, "", *std::move(samples)};
      worker.tell_drop(job.id);
    } else {
      job.result = {samples.error().outcome, samples.error().reason, {}};
      replace(job.worker, jobs);
    }
    if (watch.answer)
      watch.answer(k, job.result);
  }
}

std::vector<std::optional<Measured>> Pool::measure(const std::vector<std::string>& candidates,
                                                   const Effort& effort, const Watch& watch) {
  if (effort.anew) {
    turns_.together();
    const auto begun = start();
    turns_.leave();
    if (!begun)
      return std::vector<std::optional<Measured>>(candidates.size());
  }
  std::vector<Job> jobs;
  for (const std::string& directives : candidates) {
    Job job;
    job.id = next_id_++;
    job.directives = directives;
    jobs.push_back(std::move(job));
  }
  const auto is_waiting = [](const Job& job) { return job.state == Job::State::Waiting; };
  const auto has_worker = [&] {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return worker.is_alive(); });
  };
  // Each round finishes every candidate, or at least the one that cost its worker.
  while (has_worker() && std::any_of(jobs.begin(), jobs.end(), is_waiting) &&
         !(watch.is_over && watch.is_over())) {
    turns_.together();
    prepare(jobs, watch);
    turns_.alone();
    time(jobs, effort, watch);
    turns_.leave();
  }
  std::vector<std::optional<Measured>> results(jobs.size());
  for (size_t k = 0; k < jobs.size(); ++k)
    if (jobs[k].state != Job::State::Waiting)
      results[k] = std::move(jobs[k].result);
  return results;
}

} // namespace kawara::tune
