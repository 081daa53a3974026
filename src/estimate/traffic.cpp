#include "estimate/traffic.h"

#include "estimate/boxes.h"
#include "estimate/operations.h"
#include "kernel/walk.h"

#include <algorithm>
#include <cmath>

namespace kawara::estimate {
namespace {

using kernel::Block;
using kernel::For;
using scalar::as;
using scalar::Expr;

/// Multiply-adds that an operation is worth.
double slots_of(scalar::UnaryOp op) {
  using enum scalar::UnaryOp;
  switch (op) {
  case Neg:
  case Not:
  case Abs:
  case Floor:
  case Ceil:
  case Round:
  case Bits:
  case FromBits:
    return 1;
  case Sqrt:
  case Rsqrt:
    return 10;
  default:
    return 20; // a polynomial and what is around it
  }
}

/// Whether arithmetic that gives this is work; that of indices is not.
bool is_worked_out(const Expr& e) {
  const scalar::Elem elem = e.type().elem;
  return scalar::is_float(elem) || (scalar::is_integer(elem) && is_data(e));
}

/// Multiply-adds that an expression takes the machine.
double slots_of(const Expr& e) {
  if (as<scalar::Load>(e) != nullptr)
    return 0; // what says unpacked is no work
  double slots = 0;
  const bool is_counted = is_worked_out(e);
  if (const auto* n = as<scalar::Binary>(e); n != nullptr && is_counted) {
    const bool is_fused =
        (n->op == scalar::BinaryOp::Add || n->op == scalar::BinaryOp::Sub) &&
        (as<scalar::Binary>(n->lhs) != nullptr || as<scalar::Binary>(n->rhs) != nullptr);
    slots += n->op == scalar::BinaryOp::Div                                       ? 8
             : n->op == scalar::BinaryOp::Pow || n->op == scalar::BinaryOp::Atan2 ? 40
             : is_fused                                                           ? 0.5
                                                                                  : 1;
  } else if (const auto* u = as<scalar::Unary>(e); u != nullptr && is_counted) {
    slots += slots_of(u->op);
  }
  for (const Expr& child : scalar::children(e))
    slots += slots_of(child);
  return slots;
}

bool mentions_var(const std::vector<Expr>& index, uint32_t var) {
  bool found = false;
  for (const Expr& e : index)
    scalar::visit(e, [&](const Expr& n) {
      const auto* v = as<scalar::Var>(n);
      found = found || (v != nullptr && v->id == var);
    });
  return found;
}

/// Whether every iteration adds to elements that the one before added to.
bool carries_sum(const For& loop) {
  return kernel::has(loop.body, [&](const kernel::Store& store) {
    return store.op != scalar::ReduceOp::None && !mentions_var(store.index, loop.var);
  });
}

bool shapes_inner_loops(const For& loop) {
  return kernel::has(loop.body, [&](const For& inner) {
    return mentions_var({inner.lo, inner.hi}, loop.var);
  });
}

/// Marked, or innermost and free of sums: LLVM makes vectors of such loops by itself.
bool runs_in_vectors(const For& loop) {
  if (loop.marks.vector_width > 0 || !loop.marks.instruction.empty())
    return true;
  const bool is_innermost =
      !kernel::has(loop.body, []<kernel::Kind S>(const S&) { return kernel::Compound<S>; });
  return is_innermost && loop.step == 1 && !carries_sum(loop);
}

void scale(ArithmeticTime& time, double times) {
  time.scaled *= times;
  for (ArithmeticTime::Wait& wait : time.waits)
    wait.times *= times;
}

/// Traffic of each buffer into each capacity, and arithmetic.
struct Cost {
  PartCost part;
  std::vector<std::map<uint32_t, double>> fetched; ///< by capacity, by buffer
};

class CostModel {
public:
  CostModel(const kernel::Kernel& kernel, std::span<const int64_t> params,
            std::span<const Capacity> capacities, const Pace& pace, CostNotes* notes)
      : kernel_(kernel), params_(params), capacities_(capacities), pace_(pace), notes_(notes),
        whole_(kernel, params) {
    whole_.add(
        Block(kernel.body.begin() + static_cast<ptrdiff_t>(kernel.prepared), kernel.body.end()),
        {});
  }

  std::vector<PartCost> run() {
    std::vector<PartCost> parts;
    Environment at;
    for (size_t k = kernel_.prepared; k < kernel_.body.size(); ++k) {
      Cost cost = of(kernel_.body[k], at, 1);
      for (size_t c = 0; c < capacities_.size(); ++c) {
        const double whole = whole_.bytes(capacities_[c].line);
        note_fit(capacities_[c].line, whole);
        const bool is_there = whole <= static_cast<double>(capacities_[c].bytes);
        cost.part.bytes.push_back(0);
        if (!is_there)
          for (const auto& [buffer, bytes] : cost.fetched[c])
            cost.part.bytes.back() += bytes;
      }
      if (cost.part.operations > 0 || cost.part.seconds > 0 || !cost.fetched.front().empty())
        parts.push_back(std::move(cost.part));
    }
    return parts;
  }

private:
  Cost none() const { return {{}, std::vector<std::map<uint32_t, double>>(capacities_.size())}; }

  void merge(Cost& into, const Cost& from) const {
    into.part.operations += from.part.operations;
    into.part.seconds += from.part.seconds;
    into.part.parallel = std::max(into.part.parallel, from.part.parallel);
    into.part.forks += from.part.forks;
    into.part.trips.insert(into.part.trips.end(), from.part.trips.begin(), from.part.trips.end());
    into.part.arithmetic.scaled += from.part.arithmetic.scaled;
    into.part.arithmetic.waits.insert(into.part.arithmetic.waits.end(),
                                      from.part.arithmetic.waits.begin(),
                                      from.part.arithmetic.waits.end());
    for (size_t c = 0; c < capacities_.size(); ++c)
      for (const auto& [buffer, bytes] : from.fetched[c])
        into.fetched[c][buffer] += bytes;
  }

  /// `lanes`: iterations that run as one vector here.
  Cost of(const Block& block, Environment at, double lanes) {
    Cost sum = none();
    for (const kernel::Stmt& stmt : block)
      merge(sum, of(stmt, at, lanes));
    return sum;
  }

  Cost of(const kernel::Stmt& stmt, Environment& at, double lanes) {
    if (const auto* loop = std::get_if<For>(&stmt))
      return of_loop(*loop, at, lanes);
    if (const auto* define = std::get_if<kernel::Define>(&stmt))
      if (const auto value = interval_of(define->value, at, params_))
        at[define->var] = *value;
    std::optional<Cost> inside;
    kernel::for_blocks(stmt, [&](const Block& block) {
      Cost cost = of(block, at, lanes);
      if (inside)
        merge(*inside, cost);
      else
        inside = std::move(cost);
    });
    return inside ? *std::move(inside) : of_leaf(stmt, at, lanes);
  }

  Cost of_leaf(const kernel::Stmt& stmt, const Environment& at, double lanes) {
    Cost cost = none();
    if (const auto* store = std::get_if<kernel::Store>(&stmt)) {
      for (const auto& [elem, count] : operations_of(store->value, store->op))
        cost.part.operations += count;
      double slots = slots_of(store->value);
      if (store->op != scalar::ReduceOp::None && slots == 0)
        slots = 1; // else it joins the product as one multiply-add
      const double bytes = static_cast<double>(scalar::bytes_of(store->value.type().elem));
      cost.part.seconds =
          std::max(slots, 0.5) * 2 / pace_.flops * pace_.lanes / lanes * (bytes > 4 ? 2 : 1);
      if (notes_ != nullptr)
        cost.part.arithmetic.scaled = cost.part.seconds;
    }
    Boxes boxes(kernel_, params_);
    boxes.add({stmt}, at);
    for (size_t c = 0; c < capacities_.size(); ++c)
      for (const uint32_t buffer : boxes.buffers())
        cost.fetched[c][buffer] += passes(boxes, buffer) * boxes.bytes(buffer, capacities_[c].line);
    return cost;
  }

  /// An element that is read and written goes both ways.
  static double passes(const Boxes& boxes, uint32_t buffer) {
    return boxes.is_read(buffer) && boxes.is_written(buffer) ? 2 : 1;
  }

  Cost of_loop(const For& loop, const Environment& around, double lanes) {
    const auto lo = interval_of(loop.lo, around, params_),
               hi = interval_of(loop.hi, around, params_);
    if (!lo || !hi)
      return none();
    const double trips =
        std::ceil(static_cast<double>(hi->hi - lo->lo) / static_cast<double>(loop.step));
    if (trips <= 0)
      return none();
    const bool is_vector = runs_in_vectors(loop);
    const double inner = !loop.marks.instruction.empty() ? lanes_of_instruction(loop)
                         : is_vector ? std::max(lanes, std::min(trips, pace_.lanes))
                                     : lanes;
    const std::vector<int64_t> stands = representatives(loop, lo->lo, trips);
    Environment at = around;
    Cost cost = none();
    for (const int64_t value : stands) {
      at[loop.var] = {value, value};
      Cost one = of(loop.body, at, inner);
      wait(loop, one.part, is_vector);
      merge(cost, one);
    }
    const double each = trips / static_cast<double>(stands.size());
    cost.part.seconds *= each;
    scale(cost.part.arithmetic, each);
    cost.part.operations *= each;
    cost.part.forks *= each;
    for (auto& fetched : cost.fetched)
      for (auto& [buffer, bytes] : fetched)
        bytes *= each;
    if (loop.marks.is_parallel) {
      const auto threads = static_cast<double>(pace_.threads);
      cost.part.parallel = trips / std::ceil(trips / threads);
      cost.part.trips = {trips};
      cost.part.forks = 1;
    }
    fetch(cost, loop, around, at);
    return cost;
  }

  /// Iterations that an instruction does in the time of a vector multiply-add, over the lanes that
  /// has: the peak for its operands says so, or there is none and it is as fast as vectors.
  double lanes_of_instruction(const For& loop) const {
    double gain = 1;
    kernel::visit(loop.body, [&](const kernel::Stmt& stmt) {
      const auto* store = std::get_if<kernel::Store>(&stmt);
      const scalar::Elem elem = store != nullptr ? operand_type(store->value) : scalar::Elem::F32;
      const auto peak = pace_.instructions.find(elem == scalar::Elem::U8 ? scalar::Elem::I8 : elem);
      if (peak != pace_.instructions.end())
        gain = peak->second / pace_.flops;
    });
    return pace_.lanes * gain;
  }

  /// The iteration in the middle stands for all, or each of them for itself where there are few and
  /// loops inside are longer in some.
  static std::vector<int64_t> representatives(const For& loop, int64_t first, double trips) {
    constexpr double kFew = 4;
    if (trips > kFew || !shapes_inner_loops(loop))
      return {first + static_cast<int64_t>(trips / 2) * loop.step};
    std::vector<int64_t> all;
    for (int64_t t = 0; t < static_cast<int64_t>(trips); ++t)
      all.push_back(first + t * loop.step);
    return all;
  }

  /// An iteration that continues a sum waits for it; one that is a jump takes a cycle at least.
  void wait(const For& loop, PartCost& iteration, bool is_vector) const {
    if (is_vector || loop.marks.unroll != 0)
      return;
    const double least = carries_sum(loop) ? pace_.add_seconds : pace_.add_seconds / 4;
    iteration.seconds = std::max(iteration.seconds, least);
    if (notes_ != nullptr)
      iteration.arithmetic = {0, {{1, std::move(iteration.arithmetic), least}}};
  }

  void note_fit(int64_t line, double bytes) const {
    if (notes_ != nullptr)
      notes_->fits[line].insert(bytes);
  }

  void fetch(Cost& cost, const For& loop, const Environment& around, const Environment& at) const {
    Boxes all(kernel_, params_), one(kernel_, params_);
    all.add(loop, around);
    one.add(loop.body, at);
    for (size_t c = 0; c < capacities_.size(); ++c) {
      const int64_t line = capacities_[c].line;
      const auto room = static_cast<double>(capacities_[c].bytes);
      const double of_one = one.bytes(line), of_all = all.bytes(line);
      note_fit(line, std::min(of_one, of_all));
      const bool fits = of_one <= room || of_all <= room;
      for (auto& [buffer, bytes] : cost.fetched[c])
        if (fits)
          bytes = std::min(bytes, passes(all, buffer) * all.bytes(buffer, line));
    }
  }

  const kernel::Kernel& kernel_;
  std::span<const int64_t> params_;
  std::span<const Capacity> capacities_;
  const Pace& pace_;
  CostNotes* notes_;
  Boxes whole_;
};

} // namespace

double seconds_of(const ArithmeticTime& time, double scale) {
  double seconds = time.scaled / scale;
  for (const ArithmeticTime::Wait& wait : time.waits)
    seconds += wait.times * std::max(seconds_of(wait.body, scale), wait.least);
  return seconds;
}

std::vector<PartCost> part_costs(const kernel::Kernel& kernel, std::span<const int64_t> params,
                                 std::span<const Capacity> capacities, const Pace& pace,
                                 CostNotes* notes) {
  return CostModel(kernel, params, capacities, pace, notes).run();
}

} // namespace kawara::estimate
