#include "program/operators/registry.h"

#include "support/text.h"

#include <cmath>

namespace kawara::program::operators {
namespace {
namespace of_resize {

/// Does cell x of the result come from cell x // scale, for every whole scale?
bool repeats_cells(Definition& d) {
  if (d.word("mode", "nearest") != "nearest")
    return false;
  if (d.node().op == "Upsample" || d.opset() < 11)
    return true;
  const std::string coordinates = d.word("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = d.word("nearest_mode", "round_prefer_floor");
  if (coordinates == "asymmetric" || coordinates == "tf_half_pixel_for_nn")
    return nearest == "floor";
  // Between two cells there is none of the result's, so ties do not matter.
  return (coordinates == "half_pixel" || coordinates == "pytorch_half_pixel") &&
         nearest.rfind("round", 0) == 0;
}

/// How often each cell is repeated per dimension, when that is known and whole.
std::optional<std::vector<int64_t>> repeats_of(Definition& d) {
  const auto rank = static_cast<size_t>(d.rank(0));
  const bool is_old = d.node().op == "Upsample" || d.opset() < 11;
  const size_t scales_at = is_old ? 1 : 2;
  const auto known = [&](size_t k) {
    const bool is_full = d.has(k) && d.operand(k).value && d.shape(k) == Shape{d.rank(0)};
    return is_full ? d.operand(k).value : nullptr;
  };
  std::vector<double> scales = d.reals("scales");
  if (const Tensor* given = known(scales_at); scales.empty() && given)
    for (int64_t k = 0; k < given->cells(); ++k)
      scales.push_back(given->get_double(k));
  else if (const Tensor* sizes = is_old ? nullptr : known(3); scales.empty() && sizes)
    for (size_t k = 0; k < rank; ++k)
      scales.push_back(static_cast<double>(sizes->get_int(static_cast<int64_t>(k))) /
                       static_cast<double>(d.shape(0)[k]));
  std::vector<int64_t> repeats;
  constexpr double kMost = 1 << 20;
  for (const double scale : scales)
    if (scale >= 1 && scale <= kMost && scale == std::floor(scale))
      repeats.push_back(static_cast<int64_t>(scale));
  return repeats.size() == rank && rank > 0 ? std::optional(repeats) : std::nullopt;
}

/// Whole enlargements by repeating cells are programs; all others are left to a function.
void resize(Definition& d) {
  if (!d.need(0))
    return;
  const auto repeats = repeats_cells(d) && product(d.shape(0)) > 0 && !d.has_attribute("axes") &&
                               !d.has_attribute("keep_aspect_ratio_policy")
                           ? repeats_of(d)
                           : std::nullopt;
  if (!repeats)
    return d.decline();
  Shape result, from, to;
  std::vector<std::string> source, target;
  bool is_open = false; // the dimension before is not repeated: this one is merged with it
  for (size_t k = 0; k < repeats->size(); ++k) {
    const int64_t extent = d.shape(0)[k], times = (*repeats)[k];
    result.push_back(extent * times);
    if (is_open) {
      from.back() *= extent;
      to.back() *= extent;
    } else {
      source.push_back("i" + std::to_string(k));
      target.push_back(source.back());
      from.push_back(extent);
      to.push_back(extent);
    }
    is_open = times == 1;
    if (is_open)
      continue;
    target.push_back("r" + std::to_string(k));
    to.push_back(times);
  }
  if (!graph::cells_of(result))
    return d.decline();
  d.output(d.type(0), result);
  if (result == d.shape(0))
    return d.view(0);
  d.declare_operand(0, from);
  d.declare_output(0, to);
  d.line("{} = {}", at("Y0", join(target, ", ")), at("X0", join(source, ", ")));
}

constexpr Operator kAll[] = {{"Resize", resize}, {"Upsample", resize}};

} // namespace of_resize
} // namespace

std::span<const Operator> resize_operators() { return of_resize::kAll; }

} // namespace kawara::program::operators
