#pragma once

#include "driver/kernels/kernels.h"
#include "graph/graph.h"
#include "program/fusion/mapping.h"
#include "program/operators/definition.h"
#include "run/functions/function.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace kawara::driver {

using graph::Shape;
using graph::Tensor;
using graph::ValueId;
using run::Datum;

/// What is known of a value before it exists. Sequences are known to be there, no more.
struct Info {
  bool is_known = false;
  bool is_sequence = false;
  bool is_nothing = false; ///< neither a tensor nor a sequence: an optional without an element
  graph::DataType type = graph::DataType::F32;
  Shape shape;
  Tensor constant; ///< its elements, when they do not depend on the inputs
};

/// Runs compiled code.
struct KernelStep {
  std::shared_ptr<const run::Executable> code;
  std::vector<int64_t> params;            ///< of the code: a size, or none
  std::vector<ValueId> operands, results; ///< in the order of the code's signature
  size_t group = 0;                       ///< in `Plan::groups`
  /// The value whose memory the first result takes over, none of the operands: the code reads and
  /// writes it.
  ValueId replaced = graph::kAbsent;
};
/// `result` is the elements of `operand` under another shape and type.
struct ViewStep {
  ValueId operand, result;
};
/// `result` is the operands one after the other. Those that were made in their place already are
/// not copied.
struct JoinStep {
  std::vector<ValueId> operands;
  ValueId result;
  size_t node;
};
/// A run-time function, or a node with subgraphs.
struct CallStep {
  size_t node;
};
using Step = std::variant<KernelStep, ViewStep, JoinStep, CallStep>;

/// The nodes that a kernel computes.
struct KernelGroup {
  std::vector<size_t> nodes;
  program::fusion::Mapping mapping = program::fusion::Mapping::ManyToMany;
  std::string program;     ///< its text
  int64_t bytes_saved = 0; ///< of memory traffic, compared with a kernel for each node
};
/// Operators of a group as a name for functions: "conv_relu".
std::string name_of(const KernelGroup&, const graph::Graph&);
/// A value between two groups, and why they are two.
struct GroupBorder {
  size_t from, to; ///< nodes
  ValueId value;
  std::string why;
};

/// A result that could lie where an operand of its step ends, and whether it does.
struct InPlace {
  size_t group; ///< in `Plan::groups`
  ValueId operand, result;
  bool is_done = false;
  std::string why;
};

struct PlanOptions {
  bool fuses = true;       ///< several nodes in one kernel
  bool compiles = true;    ///< otherwise steps have no code, and cannot run
  bool gives_back = false; ///< the memory of constants that kernels have prepared goes
  bool in_place = true;    ///< results take over the memory of operands (driver/plan/in_place.h)
};

/// Where the memory of a value lies in the plan's block; those of the model's results are apart.
struct Place {
  int64_t offset = 0;
};

/// A stretch of nodes that can be laid out before any of it runs: all shapes, and all values that
/// shapes depend on, are known. Where that ends (at a node whose result's shape depends on values),
/// the plan is continued when they are known; `next` keeps a plan for each case that was met.
struct Plan {
  size_t begin = 0, end = 0; ///< nodes of the graph
  std::vector<Step> steps;
  std::vector<KernelGroup> groups;
  std::vector<GroupBorder> borders;
  std::vector<Info> infos;                  ///< of all values, after the last step
  std::vector<std::vector<Tensor>> used_up; ///< by step, when it runs for the first time
  std::map<ValueId, Place> places;
  std::shared_ptr<std::byte> block; ///< while it runs
  int64_t block_bytes = 0;
  std::vector<InPlace> in_place;
  int64_t bytes_in_place = 0; ///< by which the block is smaller for it
  std::vector<ValueId>
      asked; ///< values whose elements (or, made by a call, whose shapes) decide how to go on
  bool asks_for_elements = false;
  std::map<std::string, std::unique_ptr<Plan>> next; ///< by what was asked
};

/// Plans the graph from node `begin` on. Groups that have other sizes in `siblings`, plans of the
/// same nodes, get code for a range of sizes where that is possible. Refuses an unknown operator
/// (K0510) and operands that an operator does not take (K0511).
Result<std::unique_ptr<Plan>, Diagnostic> make_plan(const graph::Graph&, size_t begin,
                                                    std::vector<Info> infos, Kernels&,
                                                    const PlanOptions&,
                                                    const std::vector<const Plan*>& siblings = {});

/// The error for a node whose operator refuses its inputs.
Diagnostic refused(const graph::Node&, const std::vector<std::string>& operands,
                   const std::string& why);
std::string text_of(const Datum&);

} // namespace kawara::driver
