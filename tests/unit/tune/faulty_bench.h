#pragma once

#include "tune/measure/bench.h"
#include "tune/measure/guarded.h"
#include "tune/measure/worker.h"

#include <charconv>
#include <csignal>
#include <map>
#include <unistd.h>

namespace kawara::tune {

/// A bench whose candidates do what their directives say instead of computing anything: "crash",
/// "hang", "overrun", "wrong", "greedy", "refused", "crash later", "hang later", or a number: their
/// time over that of the default.
class FaultyBench : public Bench {
public:
  Prepared prepare(uint32_t id, const std::string& directives) override {
    does_[id] = directives;
    if (directives == "crash")
      ::raise(SIGSEGV);
    if (directives == "hang")
      hang();
    if (directives == "overrun") {
      const Guarded memory(4096);
      volatile std::byte* bytes = memory.data();
      bytes[4096] = std::byte{1};
    }
    if (directives == "greedy")
      greedy_ = std::vector<char>(size_t{1} << 40, 'x');
    if (directives == "wrong")
      return {Outcome::Wrong, "another result"};
    if (directives == "refused")
      return {Outcome::Refused, "K0203"};
    return {};
  }

  Samples time(uint32_t id, const Effort& effort) override {
    const std::string what = does_.at(id);
    if (what == "crash later")
      std::abort();
    if (what == "hang later")
      hang();
    double ratio = 1;
    std::from_chars(what.data(), what.data() + what.size(), ratio);
    Samples samples;
    for (int k = 0; k < effort.rounds; ++k) {
      const double disturbed = 1e-3 * (1 + 0.01 * (k % 3));
      samples.own.push_back(ratio * disturbed);
      samples.theirs.push_back(disturbed);
    }
    return samples;
  }

  void drop(uint32_t id) override { does_.erase(id); }

private:
  [[noreturn]] static void hang() {
    while (true)
      ::pause();
  }
  std::map<uint32_t, std::string> does_;
  std::vector<char> greedy_;
};

inline MakeBench faulty_benches() {
  return []() -> Parsed<std::unique_ptr<Bench>> {
    return std::unique_ptr<Bench>(std::make_unique<FaultyBench>());
  };
}

inline Limits short_limits() { return {5, 0.3, 0.3, int64_t{1} << 30}; }

} // namespace kawara::tune
