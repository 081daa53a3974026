#include "run/cpu/threads.h"
#include "tune/measure/channel.h"
#include "tune/measure/machine_lock.h"
#include "tune/measure/pool.h"
#include "tune/ranks/rank_messages.h"
#include "tune/ranks/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kawara::tune {
namespace {

/// Measures for a rank, in a process without Open MPI: it may fork.
class Service {
public:
  Service(Channel channel, const BenchesOf& benches)
      : channel_(std::move(channel)), benches_(benches) {}

  void run() {
    std::string message;
    while (channel_.receive(message, -1) == Channel::State::Message)
      if (const auto number = task_number_from(message))
        channel_.send(ready_message(begin(*number, *task_from(message))));
      else if (const auto batch = batch_from(message))
        measure(*batch);
  }

private:
  RankReady begin(uint32_t number, const Parsed<RankTask>& task) {
    if (!task)
      return {number, 0, "", render(task.error())};
    const int here = started_by_mpirun().value_or(RankOf{}).here;
    RankReady ready{number, std::max(1, task->workers / here), key_of(task->task).target, ""};
    if (run::default_threads() != task->task.threads) {
      ready.error = fmt::format("it uses {} threads where the search is for {}.",
                                run::default_threads(), task->task.threads);
      return ready;
    }
    auto benches = benches_(task->task);
    if (!benches) {
      ready.error = render(benches.error());
      return ready;
    }
    auto pool = std::make_unique<Pool>(*std::move(benches), ready.workers, task->limits);
    pool->take_turns(MachineLock(turns_of_this_machine()));
    if (const auto started = pool->start(); !started)
      ready.error = render(started.error());
    else
      pools_[task->number] = std::move(pool);
    return ready;
  }

  void measure(const RankBatch& batch) {
    RankAnswer answer{batch.task, batch.batch, 0, std::nullopt, false};
    const auto pool = pools_.find(batch.task);
    if (pool == pools_.end()) {
      answer.is_lost = true;
      channel_.send(answer_message(answer));
      return;
    }
    const auto results = pool->second->measure(batch.candidates, batch.effort,
                                               {{}, [&](size_t k, const Measured& measured) {
                                                  answer.index = batch.indices[k];
                                                  answer.measured = measured;
                                                  channel_.send(answer_message(answer));
                                                }});
    answer.measured.reset();
    answer.is_lost = std::any_of(results.begin(), results.end(),
                                 [](const auto& result) { return !result.has_value(); });
    channel_.send(answer_message(answer));
  }

  Channel channel_;
  const BenchesOf& benches_;
  std::map<uint32_t, std::unique_ptr<Pool>> pools_;
};

[[noreturn]] void serve_apart(Channel channel, const BenchesOf& benches) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_IGN);
  try {
    Service(std::move(channel), benches).run();
  } catch (const std::exception&) {
    // The rank sees the closed channel and says that it is lost.
  }
  ::_exit(0);
}

/// Carries messages from the searching rank to the service and its answers back.
void relay(Mpi& mpi, Channel& service) {
  constexpr double kTick = 1;
  bool is_lost = false;
  while (true) {
    const auto message = mpi.receive(kTick);
    if (!message)
      continue;
    if (is_stop(message->second))
      return;
    is_lost = is_lost || !service.send(message->second);
    const auto batch = batch_from(message->second);
    std::string answer;
    for (bool is_over = false; !is_over && !is_lost;) {
      is_lost = service.receive(answer, -1) != Channel::State::Message;
      if (is_lost)
        break;
      mpi.send(0, answer);
      const auto part = answer_from(answer);
      is_over = !batch || (part && !part->measured);
    }
    if (!is_lost)
      continue;
    if (batch)
      mpi.send(0, answer_message({batch->task, batch->batch, 0, std::nullopt, true}));
    else if (const auto number = task_number_from(message->second))
      mpi.send(0, ready_message({*number, 0, "", "its process was lost."}));
  }
}

} // namespace

Parsed<MakeBench> real_benches(Task task) {
  KAWARA_TRY(const auto reference, reference_of(std::move(task)));
  return MakeBench([reference] { return bench_of(reference); });
}

Result<Done, Diagnostic> serve_rank(const BenchesOf& benches) {
  auto ends = Channel::make_pair();
  const pid_t process = ends ? ::fork() : -1;
  if (process == 0) {
    { const Channel parents = std::move(ends->first); }
    serve_apart(std::move(ends->second), benches);
  }
  if (ends) {
    const Channel childs = std::move(ends->second);
  }
  KAWARA_TRY(Mpi mpi, Mpi::open());
  // Without a service all is lost, which the searching rank has to hear.
  Channel none(-1);
  relay(mpi, process > 0 ? ends->first : none);
  if (process > 0) {
    { const Channel closed = std::move(ends->first); }
    ::waitpid(process, nullptr, 0);
  }
  return Done{};
}

} // namespace kawara::tune
