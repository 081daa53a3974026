#include "schedule/auto/product/operand_layout.h"

#include "scalar/loads.h"
#include "schedule/auto/product/blocking.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// Uses of an element that make up for its copy, in groups or in the type that is computed with.
constexpr int64_t kOftenUsedImage = 64;
/// What an instruction has to gain, beyond elements that are zeros.
constexpr double kLeastGain = 1.2;

/// The only dimension of the tensor that the loop at `position` moves along, if its index is that
/// loop's value.
std::optional<int64_t> dimension_along(const Schedule& schedule, const Product& p, uint32_t tensor,
                                       size_t position) {
  const scalar::Expr& row = schedule.order.rows[p.update().value][p.nest.depth + position];
  std::optional<int64_t> found;
  for (const scalar::Load* load : scalar::loads_in(schedule.scop[p.update()].text.value)) {
    if (load->tensor != tensor)
      continue;
    for (size_t d = 0; d < load->index.size(); ++d) {
      bool mentions = false;
      scalar::visit(load->index[d],
                    [&](const scalar::Expr& e) { mentions = mentions || scalar::equal(e, row); });
      if (!mentions)
        continue;
      if (found || !scalar::equal(load->index[d], row))
        return std::nullopt;
      found = static_cast<int64_t>(d);
    }
  }
  return found;
}

/// Applies directives one by one; a tensor of the caller becomes a new one where it moves.
class Grouping {
public:
  Grouping(const Schedule& schedule, const Environment& environment)
      : schedule_(schedule), environment_(environment) {}

  bool run(const Directive& directive) {
    auto next = apply(schedule_, directive, environment_);
    if (!next)
      return false;
    schedule_ = *std::move(next);
    return true;
  }
  /// Moves a tensor; where it is now.
  template <class D> std::optional<uint32_t> move(uint32_t tensor, D directive) {
    directive.tensor = schedule_.scop.tensors[tensor].name;
    const bool is_temp = schedule_.scop.tensors[tensor].role == program::Role::Temp;
    const auto next = static_cast<uint32_t>(schedule_.scop.tensors.size());
    return run(directive) ? std::optional(is_temp ? tensor : next) : std::nullopt;
  }
  Schedule schedule_;

private:
  const Environment& environment_;
};

/// All dimensions in their order.
std::vector<LayoutPart> as_they_are(size_t rank) {
  std::vector<LayoutPart> parts;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    parts.push_back({d, LayoutPart::Kind::Whole, 1});
  return parts;
}

/// The product over the operand that was laid out, if it now runs as an instruction.
std::optional<Grouped> planned(Schedule schedule, const Product& p, uint32_t left,
                               const std::string& channels, const Environment& environment) {
  const poly::LoopId root = poly::path_of(schedule.order, p.update()).front();
  auto made = product_at(schedule, root, environment);
  if (!made || made->left != left)
    return std::nullopt;
  for (const size_t k : made->depth)
    if (schedule.order[made->nest.loops[k]].name == channels)
      made->groups = k;
  if (!runs_as_instruction(schedule, *made, environment))
    return std::nullopt;
  return Grouped{std::move(schedule), *std::move(made), root};
}

} // namespace

std::optional<Channels> channels_of(const Schedule& schedule, const Product& p) {
  const auto runs_through = [&](uint32_t tensor, int64_t dim, size_t position) {
    const auto& shape = schedule.scop.tensors[tensor].shape;
    return scalar::constant_of(shape[static_cast<size_t>(dim)]) == p.extents[position];
  };
  std::optional<Channels> best;
  for (const size_t k : p.depth) {
    const auto left = dimension_along(schedule, p, p.left, k);
    const auto right = dimension_along(schedule, p, p.right, k);
    if (left && right && runs_through(p.left, *left, k) && runs_through(p.right, *right, k) &&
        (!best || p.extents[k] > p.extents[best->position]))
      best = Channels{k, *left, *right};
  }
  return best;
}

std::vector<LayoutPart> in_groups(size_t rank, int64_t dim, int64_t group) {
  std::vector<LayoutPart> parts;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    parts.push_back(d == dim ? LayoutPart{d, LayoutPart::Kind::Blocks, group}
                             : LayoutPart{d, LayoutPart::Kind::Whole, 1});
  parts.push_back({dim, LayoutPart::Kind::Inside, group});
  return parts;
}

std::optional<Grouped> with_groups(const Schedule& schedule, const Product& p,
                                   const Environment& environment) {
  const auto channels = channels_of(schedule, p);
  if (!channels || environment.gpu || p.left == p.right || p.extents[p.rows] < 2 ||
      p.nest.depth != 0 || runs_as_instruction(schedule, p, environment) ||
      schedule.scop.tensors[p.left].private_dims != 0)
    return std::nullopt;
  const int64_t extent = p.extents[channels->position];
  Product grouped = p;
  grouped.groups = channels->position;
  constexpr int64_t kWidest = 4;
  grouped.extents[channels->position] = (extent + kWidest - 1) / kWidest * kWidest;
  const auto instruction = instruction_laid_out(schedule, grouped, environment);
  if (!instruction || instruction->depth < 2 || !packs_right(p, instruction->copied_lanes()))
    return std::nullopt;
  const int64_t group = instruction->depth, whole = (extent + group - 1) / group * group;
  const int64_t taps = product_over(p.extents, p.depth) / extent;
  if (instruction->speed * static_cast<double>(extent) < kLeastGain * static_cast<double>(whole) ||
      p.extents[p.lanes] * taps < kOftenUsedImage)
    return std::nullopt;
  Grouping grouping(schedule, environment);
  const std::string& statement = schedule.scop[p.update()].text.name;
  const std::string loop = schedule.order[p.nest.loops[channels->position]].name;
  std::optional<uint32_t> left = p.left;
  if (whole != extent) {
    left = grouping.move(p.left, Pad{"", channels->left_dim, 0, group});
    if (!left || !grouping.move(p.right, Pad{"", channels->right_dim, 0, group}) ||
        !grouping.run(Extend{{statement, loop}, group}))
      return std::nullopt;
  }
  const size_t rank = schedule.scop.tensors[p.left].shape.size();
  left = grouping.move(*left,
                       Layout{"", in_groups(rank, channels->left_dim, group), instruction->type});
  if (!left)
    return std::nullopt;
  return planned(std::move(grouping.schedule_), p, *left, loop, environment);
}

std::optional<Grouped> with_wide_elements(const Schedule& schedule, const Product& p,
                                          const Environment& environment) {
  const program::Tensor& left = schedule.scop.tensors[p.left];
  const scalar::Elem wide = scalar::compute_type(left.elem);
  int64_t iterations = 1;
  for (const int64_t extent : p.extents)
    iterations = std::min(iterations * extent, int64_t{1} << 40);
  const int64_t elements =
      bytes_of_tensor(schedule.scop.tensors[p.left]) / scalar::bytes_of(left.elem);
  const int64_t uses = iterations / std::max<int64_t>(elements, 1);
  if (environment.gpu || wide == left.elem || !scalar::is_float(wide) || !p.left_has_window ||
      p.left == p.right || p.nest.depth != 0 || left.private_dims != 0 || uses < kOftenUsedImage ||
      runs_as_instruction(schedule, p, environment))
    return std::nullopt;
  Grouping grouping(schedule, environment);
  const auto moved = grouping.move(p.left, Layout{"", as_they_are(left.shape.size()), wide});
  if (!moved)
    return std::nullopt;
  const poly::LoopId root = poly::path_of(grouping.schedule_.order, p.update()).front();
  auto made = product_at(grouping.schedule_, root, environment);
  if (!made || made->left != *moved)
    return std::nullopt;
  return Grouped{std::move(grouping.schedule_), *std::move(made), root};
}

} // namespace kawara::schedule
