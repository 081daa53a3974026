#pragma once

#include "tune/measure/measurer.h"
#include "tune/measure/task_bench.h"
#include "tune/measure/worker.h"
#include "tune/ranks/mpi.h"

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kawara::tune {

/// One process of an `mpirun` that measures, as the searching one sees it.
struct Helper {
  int rank = 0;
  int workers = 1;
  double speed = 0; ///< candidates a second; 0 before it has answered
  bool is_lost = false;
  int64_t answered = 0; ///< candidates
};

/// How many of `waiting` candidates a helper gets next: half of its share by speed, at least one
/// for each of its workers, so that the slow do not hold up the end of a batch.
size_t portion_of(size_t waiting, const std::vector<Helper>& helpers, size_t helper);

/// The searching process's side. Movable only before it is used. Open MPI is opened when somebody
/// needs it; at the end all others are told that it is over.
class Crew {
public:
  explicit Crew(int ranks) : ranks_(ranks) {}
  ~Crew();
  Crew(const Crew&) = delete;

  /// The other ranks' messages. An error is why they cannot be reached (K0641).
  Result<Mpi*, Diagnostic> mpi();
  int ranks() const { return ranks_; }
  uint32_t next_task() { return tasks_++; }

private:
  int ranks_;
  std::optional<Mpi> mpi_;
  uint32_t tasks_ = 0;
};

/// Measures candidates of one task on all other ranks. A rank that is another kind of machine, or
/// that does not answer, gets nothing; what it had is measured elsewhere.
class RankMeasurer : public Measurer {
public:
  RankMeasurer(Crew& crew, const Task& task, int workers, const Limits& limits);

  /// Refuses when no rank can measure the task (K0606).
  Parsed<Done> start() override;
  std::vector<std::optional<Measured>> measure(const std::vector<std::string>& candidates,
                                               const Effort&, const Watch& = {}) override;

  const std::vector<Helper>& helpers() const { return helpers_; }

private:
  struct Batch;
  void deal(Batch&, const Watch&);
  void hear(Batch&, const Watch&);
  void give_up(Batch&, size_t helper, const Watch&);

  Crew& crew_;
  const Task& task_;
  int workers_;
  Limits limits_;
  uint32_t number_;
  uint32_t batches_ = 0;
  Mpi* mpi_ = nullptr;
  std::vector<Helper> helpers_;
};

/// Makes the benches of a task; tests put their own in its place.
using BenchesOf = std::function<Parsed<MakeBench>(Task)>;
Parsed<MakeBench> real_benches(Task);

/// The life of a rank that measures: does what the searching one asks until it is over. Candidates
/// run in children of a process that is forked here, before Open MPI is opened: what kills a child
/// costs its candidate. Refuses what `Mpi::open` refuses.
Result<Done, Diagnostic> serve_rank(const BenchesOf& = real_benches);

} // namespace kawara::tune
