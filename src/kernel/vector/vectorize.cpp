#include "kernel/vector/vectorize.h"

#include "kernel/analysis/ranges.h"
#include "kernel/loops/unroll.h"
#include "kernel/vars.h"
#include "kernel/vector/accumulator.h"
#include "kernel/vector/if_convert.h"
#include "kernel/vector/running_lanes.h"
#include "kernel/vector/stored_by_position.h"
#include "kernel/vector/vector_expr.h"
#include "kernel/walk.h"
#include "scalar/expand/expansion.h"
#include "scalar/loads.h"

#include <algorithm>
#include <bit>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// Additions in flight that keep the adders of current processors busy.
constexpr int64_t kAccumulators = 4;

/// How much longer the code of a statement is than plain arithmetic: what becomes of exp and the
/// like is.
int64_t weight_of(const Block& body) {
  constexpr int64_t kFunction = 4;
  int64_t functions = 0;
  visit_exprs(body, [&](const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      const auto* call = as<scalar::Unary>(e);
      functions += call != nullptr && scalar::has_expansion(call->op, call->arg.type().elem);
    });
  });
  return std::max<int64_t>(1, kFunction * functions);
}

/// Registers of accumulators that a loop with much else in its body has to spare.
constexpr int64_t kKeptRegisters = 2;

class LoopVectorizer {
public:
  /// `inside` knows the loop and those around it.
  LoopVectorizer(Kernel& kernel, const For& loop, const Ranges& inside, Rest rest,
                 int64_t register_bytes)
      : kernel_(kernel), loop_(loop), inside_(inside),
        lanes_(static_cast<uint16_t>(loop.marks.vector_width)), rest_(rest),
        register_bytes_(register_bytes) {}

  /// The statements for the loop; empty when it cannot be done.
  Block run() {
    if (!plan(loop_.body, vector_of_loop()))
      return {};
    // Copies for each lane of what has no vector at all are only long. Threads of a GPU join loads
    // and stores of neighbours later.
    if (rest_ == Rest::NarrowVector && !has_vectors_)
      return {};
    const auto trips = trip_count(loop_);
    copies_ = accumulators_.empty() || folds() || !scans_.empty() ? 1 : kAccumulators;
    if (const auto most = trips ? trips : most_trips(); most && *most < lanes_ * copies_)
      copies_ = 1;
    if (trips && *trips < lanes_) {
      if (*trips > 1 && joins_halves())
        lanes_ = std::bit_floor(static_cast<uint16_t>(*trips));
      else if (has_narrow_rest(*trips))
        lanes_ = lanes_of_rest(*trips);
      else
        return {};
    }
    return trips ? constant(*trips) : general();
  }

private:
  /// Can every statement run as vectors or lane by lane? Finds the accumulators.
  bool plan(const Block& block, VectorExpr vector) {
    for (const Stmt& stmt : block) {
      if (std::get_if<Comment>(&stmt) != nullptr)
        continue;
      if (const auto* branch = std::get_if<If>(&stmt)) {
        if (vector.varies(branch->cond) || has_load(branch->cond) || !plan(branch->then, vector) ||
            !plan(branch->otherwise, vector))
          return false;
        continue;
      }
      if (const auto* define = std::get_if<Define>(&stmt)) {
        // Index definitions would turn every access that uses them into a gather.
        if (define->value.type() == scalar::kIndex || !vector(define->value) ||
            is_assigned(define->var))
          return false;
        vector.set_vector(define->var, scalar::var(define->var, vector_type(define->value)));
        has_vectors_ = true;
        continue;
      }
      const auto* store = std::get_if<Store>(&stmt);
      if (store == nullptr)
        return false;
      if (loop_.marks.is_scan && scalar::reads(store->value, store->buffer)) {
        auto scan = running_lanes(kernel_, loop_, *store);
        if (!scan || !vector_store(scan->terms, vector) || register_bytes_ == 0)
          return false;
        scans_.push_back(*std::move(scan));
        has_vectors_ = true;
        continue;
      }
      if (is_accumulation(*store, vector) && accumulator_of(*store) == nullptr)
        accumulators_.push_back({*store, {}, {}, {}});
      has_fused_nests_ |= accumulator_of(*store) == nullptr;
      has_vectors_ |= accumulator_of(*store) != nullptr || vector_store(*store, vector);
    }
    return true;
  }

  bool has_narrow_rest(int64_t iterations) const {
    return rest_ == Rest::NarrowVector && iterations > 1 && scans_.empty() &&
           (accumulators_.empty() || folds() || is_rest_);
  }

  /// Lanes of a vector for so few iterations: all that fit into a register, else a power of two: of
  /// 24 lanes compilers make single elements (300 rows took 1.8 us so, and 0.9 as 16 and 8; one
  /// Cascade Lake core, 19 November 2026).
  uint16_t lanes_of_rest(int64_t iterations) const {
    int64_t bytes = 1;
    visit(loop_.body, [&](const Store& store) {
      bytes = std::max({bytes, scalar::bytes_of(kernel_.buffers[store.buffer].elem),
                        scalar::bytes_of(store.value.type().elem)});
    });
    const bool fits = register_bytes_ == 0 || iterations * bytes <= register_bytes_;
    return static_cast<uint16_t>(fits ? iterations
                                      : std::bit_floor(static_cast<uint64_t>(iterations)));
  }

  /// A loop that does more than add up has vectors side by side already, and needs the registers.
  /// Products would no longer be added up as they are made.
  bool folds() const {
    return register_bytes_ > 0 && (has_fused_nests_ || weight_of(loop_.body) > 1) &&
           std::all_of(accumulators_.begin(), accumulators_.end(), [&](const Accumulator& a) {
             const auto* product = as<scalar::Binary>(a.update.value);
             return a.update.op == ReduceOp::Sum && lanes_ > kept_lanes(a) &&
                    (product == nullptr || product->op != BinaryOp::Mul);
           });
  }

  int64_t kept_lanes(const Accumulator& a) const {
    return kKeptRegisters * register_bytes_ / scalar::bytes_of(a.update.value.type().elem);
  }

  /// Lanes of the variables that an accumulator is made of.
  uint16_t accumulator_lanes(const Accumulator& a) const {
    const int64_t kept = folds() ? kept_lanes(a) : lanes_;
    const bool divides =
        lanes_ % kept == 0 && std::has_single_bit(static_cast<uint64_t>(lanes_ / kept));
    return divides ? static_cast<uint16_t>(kept) : lanes_;
  }

  /// What a constant among the bounds allows (the point loop of a tile).
  std::optional<int64_t> most_trips() const {
    std::optional<int64_t> most;
    for (const Expr& hi : operands_of(loop_.hi, BinaryOp::Min)) {
      For bounded = loop_;
      bounded.body.clear();
      bounded.hi = hi;
      if (const auto trips = trip_count(bounded))
        most = most ? std::min(*most, *trips) : *trips;
    }
    return most;
  }

  VectorExpr vector_of_loop() const { return {loop_.var, loop_.step, lanes_}; }

  scalar::Type vector_type(const Expr& value) const { return {value.type().elem, lanes_}; }

  bool is_assigned(uint32_t var) const {
    return has(loop_.body, [&](const Assign& assign) { return assign.var == var; });
  }

  bool is_accumulation(const Store& store, const VectorExpr& vector) const {
    const scalar::Elem elem = kernel_.buffers[store.buffer].elem;
    if (store.op == ReduceOp::None || !vector(store.value) ||
        (elem != scalar::compute_type(elem) && kernel_.numerics != program::Numerics::Fast))
      return false;
    for (const Expr& e : store.index)
      if (vector.varies(e) || has_load(e))
        return false;
    return is_only_access(kernel_, loop_.body, store, inside_);
  }

  const RunningLanes* running_of(const Store& store) const {
    for (const RunningLanes& scan : scans_)
      if (is_same_update(scan.store, store) && scalar::equal(scan.store.value, store.value))
        return &scan;
    return nullptr;
  }

  Accumulator* accumulator_of(const Store& store) {
    for (Accumulator& a : accumulators_)
      if (is_same_update(a.update, store))
        return &a;
    return nullptr;
  }

  /// One vector of iterations starting at `at`, with the accumulators of that copy.
  Block vector_body(const Block& block, const Expr& at, size_t copy) {
    return vector_body(block, at, copy, vector_of_loop());
  }

  Block vector_body(const Block& block, const Expr& at, size_t copy, VectorExpr vector) {
    const auto placed = [&](const Expr& e) { return substitute_var(e, loop_.var, at); };
    Block result;
    for (const Stmt& stmt : block) {
      if (const auto* branch = std::get_if<If>(&stmt)) {
        result.emplace_back(If{branch->cond, vector_body(branch->then, at, copy, vector),
                               vector_body(branch->otherwise, at, copy, vector)});
        continue;
      }
      if (const auto* define = std::get_if<Define>(&stmt)) {
        const scalar::Type type = vector_type(define->value);
        const uint32_t var = add_variable(kernel_, kernel_.variables[define->var].name, type);
        result.emplace_back(
            Define{var, placed(vector.widened(define->value)), lanes_at(define->origins, at)});
        vector.set_vector(define->var, scalar::var(var, type));
        continue;
      }
      const auto* store = std::get_if<Store>(&stmt);
      if (store == nullptr)
        continue;
      if (const Accumulator* a = accumulator_of(*store); a != nullptr) {
        const uint32_t var = a->vars[copy];
        const Expr old = scalar::var(var, a->type);
        const Expr value = scalar::reduce(store->op, vector.widened(store->value), a->type.lanes);
        result.emplace_back(Assign{var, placed(scalar::combine(store->op, old, value)),
                                   lanes_at(store->origins, at)});
        continue;
      }
      const RunningLanes* scan = running_of(*store);
      if (auto whole = vector_store(scan != nullptr ? scan->terms : *store, vector)) {
        Store moved = *std::move(whole);
        for (Expr& e : moved.index)
          e = placed(e);
        moved.value = placed(moved.value);
        if (scan != nullptr) {
          const Expr running = scalar::var(scan->var, moved.value.type());
          result.emplace_back(Assign{scan->var, scalar::scan(scan->op, running, moved.value), {}});
          moved.value = running;
        }
        moved.origins = lanes_at(store->origins, at);
        result.emplace_back(std::move(moved));
        continue;
      }
      append_lanes(*store, block, at, result);
    }
    return result;
  }

  Origins lanes_at(const Origins& origins, const Expr& at) const {
    return over_iterations(origins, loop_.var, at, loop_.step, int_lit(lanes_));
  }

  /// The store lane by lane, with the definitions of its block (they hold no lanes of a vector)
  /// spelled out.
  void append_lanes(Store store, const Block& block, const Expr& at, Block& out) {
    for (size_t s = block.size(); s-- > 0;)
      if (const auto* define = std::get_if<Define>(&block[s])) {
        for (Expr& e : store.index)
          e = substitute_var(e, define->var, define->value);
        store.value = substitute_var(store.value, define->var, define->value);
      }
    for (int64_t lane = 0; lane < lanes_; ++lane)
      for (Stmt& s : substitute_var(block_of(store), loop_.var,
                                    scalar::simplify(at + int_lit(lane * loop_.step))))
        out.push_back(std::move(s));
  }

  void open(Block& out) {
    for (RunningLanes& scan : scans_) {
      const std::string name = kernel_.buffers[scan.store.buffer].name + "_running";
      scan.var = add_variable(kernel_, name, vector_type(scan.before));
      const Expr before = substitute_var(scan.before, loop_.var, loop_.lo);
      out.emplace_back(Define{scan.var, scalar::broadcast(before, lanes_)});
    }
    for (Accumulator& a : accumulators_) {
      a.type = {a.update.value.type().elem, accumulator_lanes(a)};
      for (int64_t copy = 0; copy < copies_; ++copy) {
        const std::string name = kernel_.buffers[a.update.buffer].name + "_lanes";
        a.vars.push_back(add_variable(kernel_, name, a.type));
        out.emplace_back(Define{a.vars.back(), scalar::identity_of(a.update.op, a.type)});
      }
    }
  }

  void close(Block& out) const {
    for (const Accumulator& a : accumulators_)
      out.emplace_back(stored_sum(a, whole_sum(a)));
  }

  /// Whether what fills no vector is added to the halves of the accumulators while these are added
  /// up.
  bool joins_halves() const {
    return rest_ == Rest::NarrowVector && !accumulators_.empty() && !has_fused_nests_ &&
           scans_.empty() && !folds() && std::has_single_bit(static_cast<uint64_t>(lanes_));
  }

  /// The accumulators with halves of their lanes, a quarter, down to two lanes; each joined by as
  /// many of the iterations from `done` on as there are left. One iteration may be left over.
  ///
  ///   before   C[i] += reduce_sum(lanes);  for k in range(16, 28): C[i] += A[k]
  ///   after    lanes_8 = reduce_sum(lanes) + A[ramp(16, 1, 8)]
  ///            lanes_4 = reduce_sum(lanes_8) + A[ramp(24, 1, 4)];  C[i] += reduce_sum(lanes_4)
  template <class At> void close_in_halves(Block& out, const At& at, int64_t done, int64_t trips) {
    const uint16_t all = lanes_;
    for (Accumulator& a : accumulators_)
      a.sum = whole_sum(a);
    for (lanes_ = all / 2; lanes_ > 1; lanes_ /= 2) {
      if (((trips - done) & lanes_) == 0)
        continue;
      for (Accumulator& a : accumulators_) {
        a.type.lanes = lanes_;
        const std::string name = kernel_.buffers[a.update.buffer].name + "_lanes";
        a.vars = {add_variable(kernel_, name, a.type)};
        out.emplace_back(Define{a.vars[0], scalar::reduce(a.update.op, a.sum, lanes_)});
        a.sum = scalar::var(a.vars[0], a.type);
      }
      for (Stmt& s : vector_body(loop_.body, at(done), 0))
        out.push_back(std::move(s));
      done += lanes_;
    }
    lanes_ = all;
    for (const Accumulator& a : accumulators_)
      out.emplace_back(stored_sum(a, a.sum));
  }

  For vector_loop(const Expr& lo, const Expr& hi, int64_t copies) {
    For main = loop_;
    main.lo = lo;
    main.hi = hi;
    main.marks.vector_width = 0;
    main.marks.unroll = 0;
    main.step = lanes_ * copies * loop_.step;
    main.body.clear();
    for (int64_t copy = 0; copy < copies; ++copy) {
      const Expr at =
          scalar::simplify(scalar::var(loop_.var) + int_lit(copy * lanes_ * loop_.step));
      for (Stmt& s : vector_body(loop_.body, at, static_cast<size_t>(copy)))
        main.body.push_back(std::move(s));
    }
    return main;
  }

  For rest_from(const Expr& lo) const {
    For rest = loop_;
    rest.lo = lo;
    rest.marks.vector_width = 0;
    rest.marks.unroll = 0;
    rest.marks.is_parallel = false;
    return rest;
  }

  Block constant(int64_t trips) {
    const int64_t vectors = trips / lanes_;
    const auto at = [&](int64_t iteration) {
      return scalar::simplify(loop_.lo + int_lit(iteration * loop_.step));
    };
    const bool is_short =
        vectors * weight_of(loop_.body) <= kMaxVectors || loop_.marks.unroll == poly::kFullUnroll;
    Block result;
    open(result);
    if (is_short && !loop_.marks.is_parallel) {
      for (int64_t v = 0; v < vectors; ++v)
        for (Stmt& s : vector_body(loop_.body, at(v * lanes_), static_cast<size_t>(v % copies_)))
          result.push_back(std::move(s));
    } else {
      const int64_t grouped = vectors / copies_ * copies_;
      result.emplace_back(vector_loop(loop_.lo, at(grouped * lanes_), copies_));
      if (grouped != vectors)
        result.emplace_back(vector_loop(at(grouped * lanes_), at(vectors * lanes_), 1));
    }
    const int64_t whole = joins_halves() ? trips - trips % 2 : vectors * lanes_;
    if (joins_halves())
      close_in_halves(result, at, vectors * lanes_, trips);
    else
      close(result);
    if (whole == trips)
      return result;
    For rest = rest_from(at(whole));
    const int64_t left = trips - whole;
    Block last;
    if (has_narrow_rest(left)) {
      rest.marks.vector_width = lanes_of_rest(left);
      LoopVectorizer narrow(kernel_, rest, inside_, rest_, register_bytes_);
      narrow.is_rest_ = true;
      last = narrow.run();
    }
    if (last.empty())
      last = copies_of_body(kernel_, rest, rest.lo, left);
    for (Stmt& s : last)
      result.push_back(std::move(s));
    return result;
  }

  /// lo + the largest multiple of `stride` that the loop covers in whole vectors.
  uint32_t define_end(Block& out, const char* suffix, int64_t stride) {
    const uint32_t var =
        add_variable(kernel_, kernel_.variables[loop_.var].name + suffix, scalar::kIndex);
    out.emplace_back(Define{var, scalar::simplify(loop_.lo + covered_distance(loop_, stride))});
    return var;
  }

  Block general() {
    Block result;
    const uint32_t end = define_end(result, "_rest", lanes_ * loop_.step);
    if (accumulators_.empty() && scans_.empty()) {
      result.emplace_back(vector_loop(loop_.lo, scalar::var(end), 1));
    } else {
      Block vectors;
      open(vectors);
      Expr grouped = loop_.lo;
      if (copies_ > 1) {
        grouped = scalar::var(define_end(vectors, "_group", lanes_ * copies_ * loop_.step));
        vectors.emplace_back(vector_loop(loop_.lo, grouped, copies_));
      }
      vectors.emplace_back(vector_loop(grouped, scalar::var(end), 1));
      close(vectors);
      // Without a full vector the element must not be touched: it may not exist.
      result.emplace_back(
          If{binary(BinaryOp::Lt, loop_.lo, scalar::var(end)), std::move(vectors), {}});
    }
    result.emplace_back(rest_from(scalar::var(end)));
    return result;
  }

  Kernel& kernel_;
  const For& loop_;
  const Ranges& inside_;
  uint16_t lanes_;
  Rest rest_;
  int64_t register_bytes_;
  int64_t copies_ = 1;
  bool is_rest_ = false;                               ///< of a loop whose last lanes run at once
  bool has_vectors_ = false, has_fused_nests_ = false; ///< fused: no updates of accumulators
  std::vector<Accumulator> accumulators_;
  std::vector<RunningLanes> scans_;
};

/// All vector loops, with what is known of the loops around them.
class Vectorizer {
public:
  Vectorizer(Kernel& kernel, Rest rest, int64_t register_bytes)
      : kernel_(kernel), rest_(rest), register_bytes_(register_bytes) {}

  Block block(const Block& statements) {
    return rewrite_scoped(
        statements, ranges_, [](const Stmt&) {},
        [&](For loop) { return vectorized(std::move(loop)); });
  }

private:
  Block vectorized(For loop) {
    if (loop.marks.vector_width > 1) {
      For lifted = loop;
      lifted.body = stored_by_position(kernel_, if_convert(kernel_, loop, ranges_), loop.var);
      ranges_.enter(loop);
      Block vectors = LoopVectorizer(kernel_, lifted, ranges_, rest_, register_bytes_).run();
      ranges_.leave(loop);
      if (!vectors.empty())
        return vectors;
    }
    loop.marks.vector_width = 0;
    return block_of(std::move(loop));
  }

  Kernel& kernel_;
  Rest rest_;
  int64_t register_bytes_;
  Ranges ranges_;
};

} // namespace

Kernel vectorize(Kernel kernel, Rest rest, int64_t register_bytes) {
  const Block body = kernel.body;
  kernel.body = Vectorizer(kernel, rest, register_bytes).block(body);
  return kernel;
}

} // namespace kawara::kernel
