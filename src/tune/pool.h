#pragma once

#include "tune/worker.h"

#include <string>
#include <vector>

namespace kawara::tune {

/// What measuring a candidate gave.
struct Measured {
  Outcome outcome = Outcome::Measured;
  std::string reason;
  Samples samples;
};

/// Several workers. Candidates are prepared by all of them at once, and then timed one after the other
/// with nothing else going on.
class Pool {
public:
  Pool(MakeBench make, int workers, const Limits& limits);

  /// Starts the workers. An error is why no candidate can be tried.
  Parsed<Done> start();

  /// One answer for each list of directives. A lost worker is replaced; what it had prepared besides is
  /// prepared anew. When `is_over` says so, no further candidate is begun; those have no answer.
  std::vector<std::optional<Measured>> measure(const std::vector<std::string>& candidates,
                                               const Effort&,
                                               const std::function<bool()>& is_over = {});

  int64_t restarts() const { return restarts_; }

private:
  struct Job;
  void prepare(std::vector<Job>& jobs, const std::function<bool()>& is_over);
  void time(std::vector<Job>& jobs, const Effort&);
  void replace(size_t worker, std::vector<Job>& jobs);

  MakeBench make_;
  int count_;
  Limits limits_;
  std::vector<Worker> workers_;
  uint32_t next_id_ = 0;
  int64_t restarts_ = 0;
};

} // namespace kawara::tune
