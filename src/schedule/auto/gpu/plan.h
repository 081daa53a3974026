#pragma once

#include "schedule/auto/facts/nest_facts.h"
#include "schedule/auto/product/product.h"

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

/// Elements of the widest element that the statements touch in 16 bytes; in 8, 4 or 2 where a loop
/// of that extent does not hold whole groups of them. With a row: of those elements only whose
/// tensors the row's loop walks through.
int64_t gpu_vector_width(const Schedule&, const std::vector<poly::StmtId>&, int64_t extent,
                         std::optional<size_t> row = std::nullopt);

/// A product of which one operand, a matrix, is used a few times only (a vector times a matrix): a
/// matter of memory, not of arithmetic.
struct Skinny {
  Nest nest;
  std::vector<int64_t> extents; ///< by position in the nest, as all positions below
  std::vector<size_t> outer;    ///< loops that move the matrix and the result (batches)
  std::vector<size_t> few;      ///< loops along which the matrix is used again
  size_t wide = 0, depth = 0;   ///< loops over the matrix: of the result, and the one that reduces
  uint32_t matrix = 0;
  bool is_along = false; ///< neighbouring elements of the matrix are neighbours in the reduction
  poly::StmtId update() const { return nest.statements.front(); }
  std::vector<size_t> result_loops() const; ///< outer, few, wide
};

/// The nest as such a product, when memory is what it waits for.
std::optional<Skinny> skinny_of(const Schedule&, const Nest&, const Environment&);

/// Directives that bind the parallel loops of a perfect nest, other loops inside them or around;
/// best first.
std::vector<std::vector<Directive>> map_plans(const Schedule&, const Nest&, const NestFacts&,
                                              const target::Gpu&);

// Each binds what it is about and says whether it could; the schedule is unchanged if not.

/// A nest that writes along one loop and reads along another: tiles go through shared memory.
bool bind_transpose(Schedule&, const Nest&, const Environment&);
/// A product with the nests that begin and finish its tiles.
bool bind_product(Schedule&, const Product&, const std::vector<FusedNest>& before,
                  const std::vector<FusedNest>& after, const Environment&);
/// The same on tensor cores only.
bool bind_collective(Schedule&, const Product&, const std::vector<FusedNest>& before,
                     const std::vector<FusedNest>& after, const Environment&);
/// The same with the reduction in parts of that length, for tensor cores: one launch computes the
/// parts' products, another adds them up. Binds all of it, `before` and `after` too.
bool bind_product_in_parts(Schedule&, const Product&, int64_t part,
                           const std::vector<FusedNest>& before,
                           const std::vector<FusedNest>& after, const Environment&);
/// How long the parts of the reduction should be; nothing when it is better done in one go.
std::optional<int64_t> part_of_reduction(const Schedule&, const Product&, const Environment&);
/// A product with few rows, with the nests that begin and finish its results. Their loops are in
/// the order of `Skinny::result_loops`.
bool bind_skinny(Schedule&, const Skinny&, const std::vector<FusedNest>& before,
                 const std::vector<FusedNest>& after, const Environment&);
/// A chain of reductions with two products (attention) in one pass on tensor cores.
bool bind_chain(Schedule&, const Environment&);
/// A loop over rows that holds several nests along each row: a block or a warp per row.
bool bind_rows(Schedule&, poly::LoopId rows, const Environment&);

} // namespace kawara::schedule
