#pragma once

#include "cpu/agreement.h"
#include "cpu/case.h"

#include "run/measure.h"

#include <optional>

namespace kawara::bench {

/// How a contestant did in a case.
struct Entry {
  std::string contestant;
  bool is_kawara = false;
  run::Timing timing;
  Agreement agreement;
  double prepare_seconds = 0; ///< compiling, packing; not part of the timing
  std::string failure;        ///< what went wrong; empty when it ran
  /// Whether its time counts: a wrong result or none loses.
  bool counts() const { return failure.empty() && agreement.is_right; }
};

struct Row {
  Case c;
  std::vector<Entry> entries;
};

/// What the machine can do at most, as measured in the same run.
struct Limits {
  double f32_flops = 0;    ///< multiply-adds, per second
  double memory_bytes = 0; ///< a = b * s + c over large arrays, per second
};

struct ContestantInfo {
  std::string name, version;
};

/// One run of the suite with one number of threads.
struct Results {
  int64_t threads = 1;
  bool is_pinned = false;
  Limits limits;
  std::vector<ContestantInfo> contestants;
  std::vector<std::string> missing;
  std::vector<Row> rows;
};

const Entry* find_entry(const Row&, const std::string& contestant);

/// The fastest entry that counts and is not Kawara; null when there is none.
const Entry* best_peer(const Row&);

/// How many times faster than the best peer. Nothing without a peer or where the contestant did not
/// take part; 0 where it failed or was wrong.
std::optional<double> ratio_to_peers(const Row&, const std::string& contestant);

/// Share of the limit that bounds the case: multiply-adds, or bytes where there are none to count.
double share_of_limit(const Row&, const Entry&, const Limits&);

/// Ratios of a contestant over some cases.
struct Standing {
  int64_t cases = 0; ///< that have a ratio
  int64_t lost = 0;  ///< of them, with no or a wrong result; not in the mean
  double geomean = 0;
  double worst = 0;
  std::string worst_case;
};
Standing standing_of(const std::vector<Row>&, const std::string& contestant);

/// Seconds that a contestant needs for all convolutions of a network, each as often as it occurs.
/// Nothing when one of them is missing.
std::optional<double> network_seconds(const std::vector<Row>&, const std::string& network,
                                      const std::string& contestant);

/// Networks of which some convolution is among the rows.
std::vector<std::string> networks_in(const std::vector<Row>&);

/// The rows of a group whose ratios belong into one mean: products of narrow types are left out.
std::vector<Row> comparable_rows(const std::vector<Row>&, const std::string& group);

} // namespace kawara::bench
