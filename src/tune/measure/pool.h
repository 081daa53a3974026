#pragma once

#include "tune/measure/machine_lock.h"
#include "tune/measure/measurer.h"
#include "tune/measure/worker.h"

#include <string>
#include <vector>

namespace kawara::tune {

/// Several workers. Candidates are prepared by all of them at once, and then timed one after the
/// other with nothing else going on.
class Pool : public Measurer {
public:
  Pool(MakeBench make, int workers, const Limits& limits);

  /// Starts the workers.
  Parsed<Done> start() override;

  /// A lost worker is replaced; what it had prepared besides is prepared anew.
  std::vector<std::optional<Measured>> measure(const std::vector<std::string>& candidates,
                                               const Effort&, const Watch& = {}) override;

  /// Several pools on one machine: times are taken while no other one does anything.
  void take_turns(MachineLock turns) { turns_ = std::move(turns); }

  int64_t restarts() const { return restarts_; }

private:
  struct Job;
  void prepare(std::vector<Job>& jobs, const Watch&);
  void time(std::vector<Job>& jobs, const Effort&, const Watch&);
  void replace(size_t worker, std::vector<Job>& jobs);

  MakeBench make_;
  int count_;
  Limits limits_;
  std::vector<Worker> workers_;
  MachineLock turns_;
  uint32_t next_id_ = 0;
  int64_t restarts_ = 0;
};

} // namespace kawara::tune
