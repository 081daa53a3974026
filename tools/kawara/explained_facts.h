#pragma once

#include "driver/model/model.h"
#include "explain/report.h"
#include "kawara/machines.h"
#include "schedule/schedule.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace kawara::tools {

/// A program of a model that was looked at.
struct KnownProgram {
  program::Program program;
  std::vector<int64_t> sizes;
  estimate::Work work;
  explain::Characteristics what;
  double roof_seconds = 0;
  std::string bound; ///< what sets the roof
};

/// Programs by their texts, each looked at once.
class KnownPrograms {
public:
  KnownPrograms(std::optional<program::Numerics> numerics, const Figures& figures)
      : numerics_(numerics), figures_(figures) {}

  /// Errors: what of it cannot be counted.
  const Parsed<KnownProgram>& find(const std::string& text);
  /// Null where it cannot be counted.
  const KnownProgram* known(const std::string& text);

private:
  std::optional<program::Numerics> numerics_;
  const Figures& figures_;
  std::map<std::string, Parsed<KnownProgram>> programs_;
};

/// A graph, and how it would run.
struct PlannedGraph {
  const graph::Graph& graph;
  std::vector<const driver::Plan*> plans;
};

/// The program of a kernel step.
const std::string& text_of(const driver::Plan&, const driver::KernelStep&);
/// Bytes of each value that the step's program touches.
std::map<graph::ValueId, double> bytes_by_value(const KnownProgram&, const driver::KernelStep&);

/// Kernel ids by the texts of their programs: "k0" runs first.
std::map<std::string, std::string> kernel_ids(const PlannedGraph&);

/// Everything of `facts` that does not need prices of kernels: nodes and edges of the graph as it
/// runs (`fused`), where `apart` is the same graph with a kernel for each node.
void add_edges(const PlannedGraph& fused, const PlannedGraph& apart, KnownPrograms&, const Figures&,
               const schedule::Environment&, explain::ModelFacts&);
/// Totals, operators and neighbours of one way to run a model.
void add_kernels(const PlannedGraph&, bool is_after, KnownPrograms&, explain::ModelFacts&);
/// Steps with the times of their kernels, and memory.
void add_steps(const PlannedGraph&, const std::vector<explain::KernelReport>&, int64_t threads,
               explain::ModelFacts&);

} // namespace kawara::tools
