#include "schedule/marks/tensorize.h"

#include "poly/isl/coalesced.h"
#include "poly/isl/compare.h"
#include "poly/isl/dimensions.h"
#include "poly/syntactic/prover.h"
#include "program/interpret/instruction.h"
#include "scalar/eval.h"
#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"
#include "support/text.h"

#include <algorithm>
#include <numeric>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using program::Instruction;
using program::Operand;
using scalar::BinaryOp;
using scalar::Expr;

namespace {

/// Why loops are not what the instruction computes; later stages are nearer to a match.
struct Differs {
  int stage = 0;
  std::string why;
};

/// The loops from the named one to the innermost, and the statement inside them.
struct Band {
  std::vector<LoopId> loops;
  StmtId update;
};

std::optional<Band> band_at(const Schedule& schedule, LoopId outermost) {
  Band band;
  const poly::TreeNode* node = poly::find_node(schedule.order, outermost);
  while (node->is_loop()) {
    band.loops.push_back(node->loop());
    if (node->body.size() != 1)
      return std::nullopt;
    node = &node->body.front();
  }
  band.update = node->statement();
  return band;
}

/// Compares the accesses of one statement with the operands of an instruction, as relations.
class Comparison {
public:
  /// `loop_of`: by axis, the position of its loop in the band.
  Comparison(const Schedule& schedule, const Instruction& instruction, const Band& band,
             std::vector<size_t> loop_of)
      : schedule_(schedule), instruction_(instruction), band_(band), loop_of_(std::move(loop_of)),
        domain_(schedule.scop[band.update].domain.intersect_params(schedule.scop.context)) {
    const std::vector<Expr>& rows = schedule.order.rows[band.update.value];
    const size_t outer = rows.size() - band.loops.size();
    keys_.assign(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(outer));
    for (size_t axis = 0; axis < loop_of_.size(); ++axis) {
      const Expr length = scalar::int_lit(instruction.extents[axis]);
      const Expr& row = rows[outer + loop_of_[axis]];
      keys_.push_back(scalar::simplify(scalar::binary(BinaryOp::FloorDiv, row, length)));
      places_.push_back(scalar::simplify(scalar::binary(BinaryOp::Mod, row, length)));
    }
    first_ = domain_;
    for (const Expr& place : places_)
      first_ = first_.intersect(poly::set_from_condition(
          scalar::binary(BinaryOp::Eq, place, scalar::int_lit(0)), domain_, params()));
  }

  /// Nothing when `index` of a tensor is the operand's access.
  std::optional<Differs> operand(const Operand& operand, uint32_t tensor,
                                 const std::vector<Expr>& index) const {
    const std::string what =
        "Operand `" + operand.name + "` of `" + std::string(instruction_.data->name) + "`";
    const std::string element = element_text(tensor, index);
    // { [axes of the operand] -> [element - first element of the block] }
    const isl::map moves = moves_of(operand, index);
    if (!moves.is_single_valued())
      return Differs{3, moving_text(operand, what, element, index)};
    const auto steps = steps_of(moves, operand, tensor, index.size());
    if (!steps)
      return Differs{3, "`" + element +
                            "` is not at fixed distances along the loops; pack the tensor"
                            " first, so that its elements lie in the order of the loops."};
    if (const auto wrong = wrong_step(operand, *steps)) {
      const auto [d, expected] = *wrong;
      return Differs{4, what + " has neighbouring elements " + std::to_string(expected) +
                            " apart along " + loop_name(*operand.axes[d]) + ", but `" + element +
                            "` moves by " + distance_text((*steps)[d]) +
                            "; pack the tensor first, with that loop innermost."};
    }
    return std::nullopt;
  }

  /// Whether rows or a few questions show that `index` is the operand's access; else ask relations.
  bool is_plainly(const Operand& operand, uint32_t tensor, const std::vector<Expr>& index) const {
    if (instruction_.data->is_collective)
      return false;
    std::vector<int64_t> steps(operand.shape.size(), 0);
    std::optional<int64_t> stride = 1;
    for (size_t d = index.size(); d-- > 0; stride = stride_above(stride, tensor, d)) {
      const auto move = plain_move(operand, index[d]);
      if (!move)
        return false;
      add_move(*move, stride, steps);
    }
    return !wrong_step(operand, steps);
  }

private:
  /// A dimension and the elements that steps along it should take.
  std::optional<std::pair<size_t, int64_t>> wrong_step(const Operand& operand,
                                                       const std::vector<int64_t>& steps) const {
    int64_t expected = 1;
    const bool is_result = &operand == &instruction_.result();
    for (size_t d = operand.shape.size(); d-- > 0; expected *= operand.shape[d]) {
      // Results may be apart: they are moved once, after the reduction. What goes through shared
      // memory is arranged on the way, and rows of tiles are loaded from anywhere.
      const bool is_row = instruction_.data->is_tile && d == 0 && steps[d] != kFar;
      const bool may_be_apart = (is_result || instruction_.data->is_collective) && steps[d] != 0;
      if (operand.shape[d] > 1 && steps[d] != expected && !may_be_apart &&
          !(is_row && steps[d] > expected))
        return std::pair(d, expected);
    }
    return std::nullopt;
  }

  /// By dimension of the operand: how far one index moves; nothing when that is not plain.
  std::optional<std::vector<int64_t>> plain_move(const Operand& operand, const Expr& index) const {
    std::vector<int64_t> move(operand.shape.size(), 0);
    const std::vector<Expr>& rows = schedule_.order.rows[band_.update.value];
    const size_t outer = rows.size() - band_.loops.size();
    for (size_t p = 0; p < rows.size(); ++p) {
      if (!scalar::equal(index, rows[p]))
        continue;
      if (p < outer)
        return move;
      const auto axis = static_cast<size_t>(std::find(loop_of_.begin(), loop_of_.end(), p - outer) -
                                            loop_of_.begin());
      for (size_t d = 0; d < move.size(); ++d)
        if (operand.axes[d] == axis)
          move[d] = 1;
      return operand.follows(static_cast<uint32_t>(axis)) ? std::optional(move) : std::nullopt;
    }
    Expr start = index;
    for (size_t d = 0; d < move.size(); ++d) {
      if (operand.shape[d] == 1 || !operand.axes[d])
        continue;
      const auto step = step_along(index, *operand.axes[d]);
      if (!step)
        return std::nullopt;
      move[d] = *step;
      start = start - places_[*operand.axes[d]] * scalar::int_lit(*step);
    }
    return starts_block(start, index) ? std::optional(move) : std::nullopt;
  }

  /// What `index` gains by a step of the iterator that moves along this axis alone: a guess.
  std::optional<int64_t> step_along(const Expr& index, size_t axis) const {
    const std::vector<int64_t> none(params().size(), 0);
    const std::vector<int64_t> origin(schedule_.scop[band_.update].text.iters.size(), 0);
    for (size_t i = 0; i < origin.size(); ++i) {
      std::vector<int64_t> next = origin;
      next[i] = 1;
      const auto value = [&](const Expr& e, const std::vector<int64_t>& at) {
        return scalar::evaluate_index(e, at, none).value_or(0);
      };
      if (value(places_[axis], next) == 1 + value(places_[axis], origin))
        return value(index, next) - value(index, origin);
    }
    return std::nullopt;
  }

  /// Whether `start` of an iteration is `index` of the first one in its block.
  bool starts_block(const Expr& start, const Expr& index) const {
    // In the first iteration `start` is `index`, and so wherever its value follows from the block.
    if (poly::SyntacticProver(schedule_.scop).give_value(band_.update, keys_, start) ==
        poly::Answer::Yes)
      return true;
    if (!block_starts_) {
      isl::map pairs = poly::pairs_of(domain_, first_);
      for (const Expr& key : keys_)
        pairs = pairs.intersect(poly::equal_map(function(key), function(key)));
      block_starts_ = pairs;
    }
    const isl::pw_aff from = function(start), to = function(index);
    return block_starts_->is_disjoint(poly::less_map(from, to)) &&
           block_starts_->is_disjoint(poly::greater_map(from, to));
  }

  std::optional<int64_t> stride_above(std::optional<int64_t> stride, uint32_t tensor,
                                      size_t dimension) const {
    const auto extent = scalar::constant_of(schedule_.scop.tensors[tensor].shape[dimension]);
    return stride && extent ? std::optional(*stride * *extent) : std::nullopt;
  }
  static void add_move(const std::vector<int64_t>& move, std::optional<int64_t> stride,
                       std::vector<int64_t>& steps) {
    for (size_t d = 0; d < steps.size(); ++d)
      if (move[d] != 0)
        steps[d] = stride && steps[d] != kFar ? steps[d] + move[d] * *stride : kFar;
  }

  const std::vector<program::Param>& params() const { return schedule_.scop.params; }
  isl::map map(const std::vector<Expr>& functions, const isl::set& domain) const {
    return map_of(functions, domain, params());
  }
  isl::pw_aff function(const Expr& e) const {
    return poly::pw_aff_from_expr(e, isl::set::universe(domain_.space()), params());
  }
  std::string loop_name(size_t axis) const {
    return quoted(name_of_loop(schedule_.scop, schedule_.order, band_.loops[loop_of_[axis]]));
  }
  std::string element_text(uint32_t tensor, const std::vector<Expr>& index) const {
    const scalar::Type type{schedule_.scop.tensors[tensor].elem, 1};
    return scalar::to_string(scalar::load(tensor, index, type),
                             poly::names_of(schedule_.scop, band_.update));
  }
  static std::string distance_text(int64_t elements) {
    return elements == kFar ? "a distance that depends on sizes"
                            : std::to_string(elements) + (elements == 1 ? " element" : " elements");
  }

  std::vector<Expr> places_of(const Operand& operand) const {
    std::vector<Expr> places;
    for (const auto& axis : operand.axes)
      places.push_back(axis ? places_[*axis] : scalar::int_lit(0));
    return places;
  }

  isl::map moves_of(const Operand& operand, const std::vector<Expr>& index) const {
    std::vector<Expr> all = keys_;
    all.insert(all.end(), places_.begin(), places_.end());
    const isl::map points = map(all, domain_);
    const isl::map elements = points.reverse().apply_range(map(index, domain_));
    const isl::map first = map(keys_, first_).reverse().apply_range(map(index, first_));
    const isl::map base = points.reverse().apply_range(map(keys_, domain_)).apply_range(first);
    const isl::map moves = elements.as_pw_multi_aff().sub(base.as_pw_multi_aff()).as_map();
    return map(places_of(operand), domain_).reverse().apply_range(points).apply_range(moves);
  }

  /// The axis along which an element moves, or moves from block to block, unlike the operand.
  std::string moving_text(const Operand& operand, const std::string& what,
                          const std::string& element, const std::vector<Expr>& index) const {
    for (uint32_t axis = 0; axis < places_.size(); ++axis) {
      if (operand.follows(axis))
        continue;
      Operand wider = operand;
      wider.axes.push_back(axis);
      wider.shape.push_back(instruction_.extents[axis]);
      if (moves_of(wider, index).is_single_valued())
        return what + " stays in place along " + loop_name(axis) + " (axis `" +
               instruction_.axes[axis] + "`), but `" + element + "` moves.";
    }
    return "`" + element + "` moves along the loops in another way from block to block.";
  }

  /// Elements that an access moves by along each dimension, row-major; kFar where sizes decide.
  /// Nothing when it is no constant.
  std::optional<std::vector<int64_t>> steps_of(const isl::map& moves, const Operand& operand,
                                               uint32_t tensor, size_t dims) const {
    const isl::pw_multi_aff function = moves.as_pw_multi_aff();
    std::vector<int64_t> steps(operand.shape.size(), 0);
    std::optional<int64_t> stride = 1;
    for (size_t d = dims; d-- > 0; stride = stride_above(stride, tensor, d)) {
      const Expr move =
          poly::expr_from_pw_aff(poly::coalesced(function.at(static_cast<int>(d))), params());
      if (!move || !add_steps(move, operand, stride, steps))
        return std::nullopt;
    }
    return steps;
  }

  bool add_steps(const Expr& move, const Operand& operand, std::optional<int64_t> stride,
                 std::vector<int64_t>& steps) const {
    const std::vector<int64_t> none(params().size(), 0);
    const auto value = [&](int64_t lane) {
      return scalar::evaluate_index(move, program::element_at(operand, lane), none);
    };
    std::vector<int64_t> unit(operand.shape.size(), 0);
    for (size_t d = 0; d < operand.shape.size(); ++d) {
      if (operand.shape[d] == 1)
        continue;
      std::vector<int64_t> point(operand.shape.size(), 0);
      point[d] = 1;
      const auto step = scalar::evaluate_index(move, point, none);
      if (!step)
        return false;
      unit[d] = *step;
    }
    add_move(unit, stride, steps);
    for (int64_t lane = 0; lane < operand.lanes(); ++lane) {
      const std::vector<int64_t> at = program::element_at(operand, lane);
      if (value(lane) != std::inner_product(at.begin(), at.end(), unit.begin(), int64_t{0}))
        return false;
    }
    return true;
  }

  static constexpr int64_t kFar = INT64_MAX;
  const Schedule& schedule_;
  const Instruction& instruction_;
  const Band& band_;
  std::vector<size_t> loop_of_;
  isl::set domain_, first_;                      ///< all iterations; those at the start of a block
  std::vector<Expr> keys_;                       ///< loops around, and the block
  std::vector<Expr> places_;                     ///< by axis: where in the block
  mutable std::optional<isl::map> block_starts_; ///< { iteration -> the first of its block }
};

std::string value_text(const Instruction& instruction) {
  scalar::Names names;
  names.iters = instruction.axes;
  for (const Operand& operand : instruction.operands)
    names.tensors.push_back(operand.name);
  return scalar::to_string(instruction.value, names);
}

std::string type_text(const Instruction& instruction) {
  std::vector<std::string> parts;
  for (const Operand& operand : instruction.operands)
    parts.push_back("`" + operand.name + "` of " + std::string(scalar::name_of(operand.elem)));
  return join(parts, ", ");
}

/// What can be said without relations: the update, its types, the lengths of loops.
std::optional<Differs> compare_update(const Schedule& schedule, const Instruction& instruction,
                                      StmtId id) {
  const program::Statement& text = schedule.scop[id].text;
  const std::string name = "`" + std::string(instruction.data->name) + "`";
  const auto elem = schedule.scop.tensors[text.tensor].elem;
  if (text.op != instruction.op)
    return Differs{0, text.name + " does not add to an element, which " + name + " does."};
  if (elem != instruction.result().elem || program::matching_loads(instruction, text.value).empty())
    return Differs{1, text.name + " adds `" +
                          scalar::to_string(text.value, poly::names_of(schedule.scop, id)) +
                          "` to elements of " + std::string(scalar::name_of(elem)) + "; " + name +
                          " adds `" + value_text(instruction) + "`, with " +
                          type_text(instruction) + "."};
  return std::nullopt;
}

std::optional<Differs> compare_lengths(const Schedule& schedule, const Instruction& instruction,
                                       const Band& band, const std::vector<size_t>& loop_of) {
  if (instruction.data->is_collective)
    return std::nullopt;
  for (size_t axis = 0; axis < loop_of.size(); ++axis) {
    const LoopId loop = band.loops[loop_of[axis]];
    const auto run = longest_run(schedule.scop, schedule.order, loop);
    const int64_t length = instruction.extents[axis];
    const bool is_shorter = run && *run < length && program::axis_of_rows(instruction) == axis;
    if (!run || (*run % length != 0 && !is_shorter))
      return Differs{2, "Axis `" + instruction.axes[axis] + "` of `" +
                            std::string(instruction.data->name) + "` has " +
                            std::to_string(length) + " iterations; loop " +
                            quoted(name_of_loop(schedule.scop, schedule.order, loop)) + " has " +
                            (run ? std::to_string(*run) : "a number that depends on sizes") +
                            ". Split it by a multiple first."};
  }
  return std::nullopt;
}

/// Relations under one assignment of loops and loads. `only_plainly`: a difference says nothing.
std::optional<Differs> compare_accesses(const Schedule& schedule, const Instruction& instruction,
                                        const Band& band, const std::vector<size_t>& loop_of,
                                        const program::OperandLoads& loads, bool only_plainly) {
  const program::Statement& text = schedule.scop[band.update].text;
  const Comparison comparison(schedule, instruction, band, loop_of);
  const auto compare = [&](const Operand& operand, uint32_t tensor,
                           const std::vector<Expr>& index) -> std::optional<Differs> {
    if (!only_plainly)
      return comparison.operand(operand, tensor, index);
    if (comparison.is_plainly(operand, tensor, index))
      return std::nullopt;
    return Differs{-1, {}};
  };
  for (size_t k = 0; k < loads.size(); ++k) {
    const auto* load = scalar::as<scalar::Load>(loads[k]);
    if (load->tensor == text.tensor)
      return Differs{3, text.name + " reads the tensor that it adds to."};
    if (auto differs = compare(instruction.operands[k], load->tensor, load->index))
      return differs;
  }
  return compare(instruction.result(), text.tensor, text.index);
}

/// The band position of each axis under which the loops are the instruction; else the nearest miss.
Result<std::vector<size_t>, Differs> axes_of(const Schedule& schedule,
                                             const Instruction& instruction, const Band& band) {
  if (auto differs = compare_update(schedule, instruction, band.update))
    return fail(*std::move(differs));
  if (band.loops.size() != instruction.axes.size())
    return fail(Differs{1, "`" + std::string(instruction.data->name) + "` has " +
                               std::to_string(instruction.axes.size()) + " loops; there are " +
                               std::to_string(band.loops.size()) + " from there to " +
                               schedule.scop[band.update].text.name + "."});
  std::vector<size_t> loop_of(band.loops.size());
  std::iota(loop_of.begin(), loop_of.end(), size_t{0});
  const auto all_loads =
      program::matching_loads(instruction, schedule.scop[band.update].text.value);
  std::optional<Differs> nearest;
  const auto miss = [&](Differs differs) {
    if (!nearest || differs.stage > nearest->stage)
      nearest = std::move(differs);
  };
  for (const bool only_plainly : {true, false})
    do {
      if (auto differs = compare_lengths(schedule, instruction, band, loop_of)) {
        miss(*std::move(differs));
        continue;
      }
      for (const program::OperandLoads& loads : all_loads) {
        auto differs = compare_accesses(schedule, instruction, band, loop_of, loads, only_plainly);
        if (!differs)
          return loop_of;
        miss(*std::move(differs));
      }
    } while (std::next_permutation(loop_of.begin(), loop_of.end()));
  return fail(*std::move(nearest));
}

/// All instructions; those that differ in their width alone as one.
std::vector<std::string> families_of_instructions() {
  std::vector<std::string> families;
  for (const target::Intrinsic& one : target::intrinsics()) {
    std::string name(one.name);
    if (one.is_collective) {
      const size_t begin = name.find('n') + 1;
      name.replace(begin, name.find('k') - begin, "N");
    }
    if (families.empty() || families.back() != name)
      families.push_back(name);
  }
  return families;
}

Refusal::Shape unknown_instruction(const std::string& name, const std::string& request) {
  std::vector<std::string> names;
  for (const target::Intrinsic& one : target::intrinsics())
    names.emplace_back(one.name);
  const auto meant = closest(name, names);
  return shape_refusal(kUnknownInstruction, request + ": there is no instruction `" + name + "`",
                       {}, "",
                       {meant ? "Did you mean `" + *meant + "`?"
                              : "The instructions are " + join(families_of_instructions(), ", ") +
                                    "; N is a width from 64 to 256."});
}

} // namespace

Proposed propose(const Schedule& schedule, const Tensorize& directive, const Environment&) {
  const std::string request = request_of(directive);
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, directive.loop, request));
  const target::Intrinsic* data = target::find_intrinsic(directive.instruction);
  if (data == nullptr)
    return fail(unknown_instruction(directive.instruction, request));
  const Span where = schedule.order[loop].where;
  const auto band = band_at(schedule, loop);
  if (!band)
    return fail(shape_refusal(kOtherMeaning, request, where,
                              "has several statements or loops inside",
                              {"An instruction stands for one update inside loops that follow each "
                               "other directly. Distribute the loop first."}));
  for (const LoopId part : band->loops) {
    if (auto refused = refuse_if_bound(schedule.order, part, request))
      return fail(*std::move(refused));
    if (schedule.order[part].marks.is_parallel)
      return fail(shape_refusal(kAlreadyMarked, request + ": it has a parallel loop", where, "",
                                {"Split the parallel loop, and tensorize the inner part."}));
  }
  const Instruction& instruction = program::instruction_of(*data);
  const auto loop_of = axes_of(schedule, instruction, *band);
  if (!loop_of)
    return fail(shape_refusal(kOtherMeaning, request, where, "computes something else",
                              {loop_of.error().why}));
  if (static_cast<int>(schedule.scop.numerics) < static_cast<int>(data->strictness))
    return fail(shape_refusal(
        kNumericsForbid, request, where, "would round in another way",
        {"`" + std::string(data->name) + "` rounds sums in a way that `numerics " +
             std::string(program::name_of(schedule.scop.numerics)) + "` does not allow.",
         std::string("Ask for `--numerics ") +
             (data->strictness == target::Strictness::Fast ? "fast" : "rounding") + "`."}));
  poly::Order order = schedule.order;
  for (size_t axis = 0; axis < loop_of->size(); ++axis) {
    poly::Marks& marks = order[band->loops[(*loop_of)[axis]]].marks;
    marks.instruction = data->name;
    marks.instruction_axis = static_cast<uint32_t>(axis);
  }
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
