#pragma once

#include "schedule/auto_nest.h"
#include "schedule/auto_product.h"

namespace kawara::schedule {

/// A list of directives being written down for loops around one statement.
class GpuPlan {
public:
  explicit GpuPlan(std::string statement) : statement_(std::move(statement)) {}

  LoopName loop(const std::string& name) const { return {statement_, name}; }
  void split(const std::string& name, int64_t size) { add(Split{loop(name), size}); }
  void bind(const std::string& name, poly::Axis axis) { add(Bind{loop(name), axis}); }
  void unroll(const std::string& name) { add(Unroll{loop(name), std::nullopt}); }
  void vectorize(const std::string& name, int64_t width) { add(Vectorize{loop(name), width}); }
  void reorder(const std::vector<std::string>& names);
  void add(Directive directive) { list_.push_back(std::move(directive)); }
  const std::vector<Directive>& list() const { return list_; }

private:
  std::string statement_;
  std::vector<Directive> list_;
};

/// Applies all of the directives or none; whether it did.
bool try_plan(Schedule&, const std::vector<Directive>&, const Environment&);

/// Cells of the widest element that the statements touch in 16 bytes; 1 where a loop of that extent does
/// not hold whole groups of them.
int64_t gpu_vector_width(const Schedule&, const std::vector<poly::StmtId>&, int64_t extent);

// Each binds what it is about and says whether it could; the schedule is unchanged if not.

/// Parallel loops of a perfect nest, other loops inside them or around.
bool bind_map(Schedule&, const Nest&, const Environment&);
/// A nest that writes along one loop and reads along another: tiles go through shared memory.
bool bind_transpose(Schedule&, const Nest&, const Environment&);
/// A product with the nests that begin and finish its tiles.
bool bind_product(Schedule&, const Product&, const std::vector<Companion>& before,
                  const std::vector<Companion>& after, const Environment&);
/// A chain of reductions with two products (attention) in one pass on tensor cores.
bool bind_chain(Schedule&, const Environment&);
/// A loop over rows that holds several nests along each row: a block or a warp per row.
bool bind_rows(Schedule&, poly::LoopId rows, const Environment&);

} // namespace kawara::schedule
