#pragma once

#include "estimate/energy/energy.h"
#include "explain/characterise.h"
#include "explain/judged_fusion.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kawara::explain {

/// Bytes of a tensor that a kernel touches.
struct TensorBytes {
  std::string tensor;
  double bytes = 0;
};

/// What a run of a model does, one after the other.
struct StepReport {
  std::string kernel;            ///< its id; empty: a function, or a copy
  std::string call;              ///< operator of a function
  std::string name;              ///< of the first node
  std::optional<double> seconds; ///< predicted or measured; not known of functions
  bool is_of_roof = false;       ///< predicted from the roof alone, not from a schedule
  int64_t threads = 1;
  std::vector<std::string> reads, writes;
  double bytes = 0, operations = 0;
  int64_t live_bytes = 0; ///< of values between kernels while it runs
};

/// A node that computes.
struct NodeReport {
  std::string id, name, op;
  std::string kernel;               ///< empty: a function, or a copy
  double operations = 0, bytes = 0; ///< as a kernel of its own
  bool is_known = false;            ///< whether that could be counted
};

/// What a decision gives or takes.
struct Price {
  double bytes = 0, seconds = 0;
  std::optional<estimate::Band> joules;
};

/// A value that one node makes and another reads.
struct EdgeReport {
  std::string from, to; ///< ids of nodes
  std::string tensor, type, shape;
  double bytes = 0; ///< of the tensor
  bool is_fused = false;
  Price price; ///< saved where fused, else what one kernel for both would save
  std::string reason;
  FusionVerdict verdict;
};

/// Two kernels that run one after the other.
struct PairReport {
  bool is_after = false;     ///< fusion
  std::string first, second; ///< operators
  int64_t times = 1;
  Overlap overlap;
};

/// An operator of the model as it is written, in a kernel of its own.
struct OperatorReport {
  std::string name, op;
  double operations = 0, sums = 0, accesses = 0, bytes = 0; ///< `bytes`: each element once
  double seconds = 0;                                       ///< under the roof
};

/// All kernels of one way to run a model.
struct Totals {
  int64_t kernels = 0;
  double operations = 0, bytes = 0, seconds = 0; ///< under the roof
};

/// A stretch of the memory between kernels.
struct ArenaTensor {
  std::string name;
  int64_t offset = 0, bytes = 0;
  size_t first_step = 0, last_step = 0; ///< both included
};
struct Arena {
  int64_t bytes = 0, most_live = 0, constants = 0;
  std::vector<ArenaTensor> tensors;
};

/// All of a model but its kernels.
struct ModelFacts {
  std::vector<StepReport> steps;
  bool is_measured = false;   ///< times of steps; else predicted
  double between_seconds = 0; ///< what a measured call takes besides its steps
  std::vector<NodeReport> nodes;
  std::vector<EdgeReport> edges;
  std::vector<PairReport> pairs;
  std::vector<OperatorReport> operators; ///< before fusion
  Totals before, after;
  std::optional<Arena> arena;
};

/// Saved by all edges that are fused, or cost by all that are not.
Price sum_of(const std::vector<EdgeReport>&, bool is_fused);

/// Chrome's trace format: one span for the call, one for each step within it, live bytes.
std::string trace_json(const std::string& title, const ModelFacts&);

} // namespace kawara::explain
