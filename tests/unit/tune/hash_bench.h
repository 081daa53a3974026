#pragma once

#include "support/hash.h"
#include "tune/measure/task_bench.h"
#include "tune/measure/worker.h"

#include <csignal>
#include <map>
#include <unistd.h>

namespace kawara::tune {

/// What a candidate does depends on its text alone. Some crash, hang, are refused or give wrong
/// results (and claim to be very fast); the times of the others are spread from half to one and a
/// half times the default's.
struct Fate {
  Outcome outcome = Outcome::Measured;
  double ratio = 1;
};

inline Fate fate_of(const std::string& directives) {
  const uint64_t hash = hash_mix(hash_text(directives), 17);
  if (directives == "auto")
    return {};
  const uint64_t kind = hash % 100;
  const double ratio = 0.5 + static_cast<double>(hash / 100 % 1000) / 1000;
  return {kind < 8    ? Outcome::Crashed
          : kind < 9  ? Outcome::TimedOut
          : kind < 18 ? Outcome::Wrong
          : kind < 24 ? Outcome::Refused
                      : Outcome::Measured,
          ratio};
}

class HashBench : public Bench {
public:
  Prepared prepare(uint32_t id, const std::string& directives) override {
    const Fate fate = fate_of(directives);
    ratios_[id] = fate.ratio;
    if (fate.outcome == Outcome::Crashed)
      ::raise(SIGILL);
    if (fate.outcome == Outcome::TimedOut)
      while (true)
        ::pause();
    return {fate.outcome, fate.outcome == Outcome::Refused ? "K0203" : ""};
  }
  Samples time(uint32_t id, const Effort& effort) override {
    Samples samples;
    for (int k = 0; k < effort.rounds; ++k) {
      samples.own.push_back(ratios_.at(id) * 1e-3);
      samples.theirs.push_back(1e-3);
    }
    return samples;
  }
  void drop(uint32_t id) override { ratios_.erase(id); }

private:
  std::map<uint32_t, double> ratios_;
};

inline MakeBench hash_benches() {
  return []() -> Parsed<std::unique_ptr<Bench>> {
    return std::unique_ptr<Bench>(std::make_unique<HashBench>());
  };
}

/// A program with enough loops to search in; nothing of it is run.
inline std::shared_ptr<const Reference> small_reference() {
  driver::Request request;
  request.text = make_source("t.kw", R"(param N
input A: f32[N, N], B: f32[N, N]
output C: f32[N, N]
for i in range(N):
    for j in range(N):
        C[i, j] = A[i, j] + B[j, i]
)");
  request.sizes["N"] = 30;
  schedule::Environment environment;
  environment.cpu = *target::named_cpu("neoverse-n1");
  auto task = task_of(std::move(request), environment, 2);
  auto reference = reference_of(*std::move(task));
  if (!reference)
    throw std::runtime_error(render(reference.error()));
  return *reference;
}

} // namespace kawara::tune
