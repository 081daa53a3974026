#include "tune/ranks/ranks.h"

#include "tune/clock.h"
#include "tune/ranks/rank_messages.h"

#include <algorithm>
#include <cmath>

namespace kawara::tune {
namespace {

/// How long to wait for a rank besides what its candidates may take.
constexpr double kRankPatience = 60;
/// A candidate is dealt this often before it counts as what costs ranks.
constexpr int kMostDeals = 2;

Diagnostic no_helper(const std::vector<std::string>& reasons) {
  Diagnostic d;
  d.code = "K0606";
  d.headline = "the default schedule cannot be measured";
  d.body.push_back("No rank of this `mpirun` can do it.");
  for (const std::string& reason : reasons)
    d.body.push_back(reason);
  return d;
}

} // namespace

size_t portion_of(size_t waiting, const std::vector<Helper>& helpers, size_t helper) {
  double known = 0, count = 0;
  for (const Helper& one : helpers)
    if (!one.is_lost && one.speed > 0) {
      known += one.speed;
      count += 1;
    }
  const double usual = count > 0 ? known / count : 1;
  double all = 0;
  for (const Helper& one : helpers)
    if (!one.is_lost)
      all += one.speed > 0 ? one.speed : usual;
  const double own = helpers[helper].speed > 0 ? helpers[helper].speed : usual;
  const auto share = static_cast<size_t>(static_cast<double>(waiting) * own / all / 2);
  const auto least = static_cast<size_t>(std::max(helpers[helper].workers, 1));
  return std::min(waiting, std::max(share, least));
}

Crew::~Crew() {
  // Those who wait for this process to open Open MPI must hear it, too.
  const auto opened = mpi();
  for (int rank = 1; opened && rank < ranks_; ++rank)
    (*opened)->send(rank, stop_message());
}

Result<Mpi*, Diagnostic> Crew::mpi() {
  if (!mpi_) {
    KAWARA_TRY(Mpi opened, Mpi::open());
    mpi_.emplace(std::move(opened));
  }
  return &*mpi_;
}

/// Candidates on their way.
struct RankMeasurer::Batch {
  const std::vector<std::string>& candidates;
  const Effort& effort;
  uint32_t number = 0;
  std::deque<size_t> waiting;
  std::vector<int> deals; ///< of each candidate
  std::vector<std::optional<Measured>> results;
  struct Portion {
    std::vector<size_t> indices; ///< not yet answered
    size_t dealt = 0;
    double begun = 0, deadline = 0;
    bool is_open = false;
  };
  std::vector<Portion> portions; ///< of each helper
};

RankMeasurer::RankMeasurer(Crew& crew, const Task& task, int workers, const Limits& limits)
    : crew_(crew), task_(task), workers_(workers), limits_(limits), number_(crew.next_task()) {}

Parsed<Done> RankMeasurer::start() {
  auto opened = crew_.mpi();
  if (!opened)
    return fail(Diagnostics{std::move(opened).error()});
  mpi_ = *opened;
  helpers_.clear();
  for (int rank = 1; rank < mpi_->ranks(); ++rank)
    mpi_->send(rank, task_message({number_, task_, workers_, limits_}));
  std::vector<std::string> reasons;
  const double deadline = steady_seconds() + limits_.start_seconds + kRankPatience;
  for (int answers = 1; answers < mpi_->ranks();) {
    const auto message = mpi_->receive(std::max(0.0, deadline - steady_seconds()));
    if (!message)
      break;
    const auto ready = ready_from(message->second);
    if (!ready || ready->task != number_)
      continue; // of an earlier batch that was given up
    ++answers;
    if (ready->error.empty() && ready->target == key_of(task_).target)
      helpers_.push_back({message->first, ready->workers, 0, false, 0});
    else
      reasons.push_back("Rank " + std::to_string(message->first) + ": " +
                        (ready->error.empty()
                             ? "it is another kind of machine, " + ready->target + "."
                             : ready->error));
  }
  if (helpers_.empty()) {
    if (reasons.empty())
      reasons.push_back("None of them answers.");
    return fail(Diagnostics{no_helper(reasons)});
  }
  return Done{};
}

void RankMeasurer::deal(Batch& batch, const Watch& watch) {
  for (size_t h = 0; h < helpers_.size(); ++h) {
    Batch::Portion& portion = batch.portions[h];
    if (helpers_[h].is_lost || portion.is_open || batch.waiting.empty() ||
        (watch.is_over && watch.is_over()))
      continue;
    const size_t count = portion_of(batch.waiting.size(), helpers_, h);
    std::vector<std::string> texts;
    portion = {};
    for (size_t k = 0; k < count; ++k) {
      const size_t index = batch.waiting.front();
      batch.waiting.pop_front();
      ++batch.deals[index];
      portion.indices.push_back(index);
      texts.push_back(batch.candidates[index]);
    }
    portion.dealt = count;
    portion.is_open = true;
    portion.begun = steady_seconds();
    portion.deadline =
        portion.begun + kRankPatience +
        static_cast<double>(count) *
            (limits_.prepare_seconds + limits_.time_seconds + batch.effort.limit_seconds);
    mpi_->send(helpers_[h].rank, measure_message({number_, batch.number, portion.indices,
                                                  std::move(texts), batch.effort}));
  }
}

/// What a rank that is lost had to do is done by others; not what has cost two of them.
void RankMeasurer::give_up(Batch& batch, size_t helper, const Watch& watch) {
  helpers_[helper].is_lost = true;
  for (const size_t index : batch.portions[helper].indices) {
    if (batch.deals[index] < kMostDeals) {
      batch.waiting.push_back(index);
      continue;
    }
    batch.results[index] = Measured{Outcome::TimedOut, "ranks that measured it were lost", {}};
    if (watch.answer)
      watch.answer(index, *batch.results[index]);
  }
  batch.portions[helper] = {};
}

void RankMeasurer::hear(Batch& batch, const Watch& watch) {
  constexpr double kTick = 0.2;
  const auto message = mpi_->receive(kTick);
  for (size_t h = 0; h < helpers_.size(); ++h)
    if (batch.portions[h].is_open && steady_seconds() > batch.portions[h].deadline)
      give_up(batch, h, watch);
  const auto answer = message ? answer_from(message->second) : std::nullopt;
  if (!answer || answer->task != number_ || answer->batch != batch.number)
    return;
  const auto helper = std::find_if(helpers_.begin(), helpers_.end(), [&](const Helper& one) {
    return one.rank == message->first && !one.is_lost;
  });
  if (helper == helpers_.end())
    return;
  const auto h = static_cast<size_t>(helper - helpers_.begin());
  Batch::Portion& portion = batch.portions[h];
  if (answer->measured) {
    const auto mine = std::find(portion.indices.begin(), portion.indices.end(), answer->index);
    if (mine == portion.indices.end())
      return;
    portion.indices.erase(mine);
    ++helper->answered;
    batch.results[answer->index] = *answer->measured;
    if (watch.answer)
      watch.answer(answer->index, *answer->measured);
    return;
  }
  if (answer->is_lost || !portion.indices.empty()) {
    give_up(batch, h, watch);
    return;
  }
  const double seconds = std::max(steady_seconds() - portion.begun, 1e-3);
  const double speed = static_cast<double>(portion.dealt) / seconds;
  helper->speed = helper->speed > 0 ? (helper->speed + speed) / 2 : speed;
  portion = {};
}

std::vector<std::optional<Measured>>
RankMeasurer::measure(const std::vector<std::string>& candidates, const Effort& effort,
                      const Watch& watch) {
  Batch batch{candidates, effort, batches_++, {}, {}, {}, {}};
  for (size_t k = 0; k < candidates.size(); ++k)
    batch.waiting.push_back(k);
  batch.deals.resize(candidates.size());
  batch.results.resize(candidates.size());
  batch.portions.resize(helpers_.size());
  while (true) {
    deal(batch, watch);
    if (std::none_of(batch.portions.begin(), batch.portions.end(),
                     [](const Batch::Portion& portion) { return portion.is_open; }))
      return std::move(batch).results;
    hear(batch, watch);
  }
}

} // namespace kawara::tune
