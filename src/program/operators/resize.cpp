#include "program/operators/registry.h"

#include "support/text.h"

#include <algorithm>
#include <cmath>

namespace kawara::program::operators {
namespace {
namespace of_resize {

/// Does element x of the result come from element x // scale, for every whole scale?
bool repeats_elements(Definition& d) {
  if (d.word("mode", "nearest") != "nearest")
    return false;
  if (d.node().op == "Upsample" || d.opset() < 11)
    return true;
  // Those of interpolation and cuts have no influence on elements that are repeated.
  for (const char* name : {"antialias", "cubic_coeff_a", "exclude_outside", "extrapolation_value"})
    d.needs_no(name);
  const std::string coordinates = d.word("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = d.word("nearest_mode", "round_prefer_floor");
  if (d.word("keep_aspect_ratio_policy", "stretch") != "stretch")
    return false;
  if (coordinates == "asymmetric" || coordinates == "tf_half_pixel_for_nn")
    return nearest == "floor";
  // Between two elements there is none of the result's, so ties do not matter.
  return (coordinates == "half_pixel" || coordinates == "half_pixel_symmetric" ||
          coordinates == "pytorch_half_pixel") &&
         (nearest == "round_prefer_floor" || nearest == "round_prefer_ceil");
}

/// Dimensions that scales and sizes are listed for; nothing when they are no list of them.
std::optional<std::vector<size_t>> listed_axes(Definition& d) {
  std::vector<size_t> axes;
  const auto given = d.node().op == "Upsample" ? std::nullopt : d.integers("axes");
  for (int64_t k = 0; !given && k < d.rank(0); ++k)
    axes.push_back(static_cast<size_t>(k));
  for (const int64_t axis : given.value_or(std::vector<int64_t>{})) {
    const auto at = static_cast<size_t>(axis < 0 ? axis + d.rank(0) : axis);
    if (axis < -d.rank(0) || axis >= d.rank(0) ||
        std::find(axes.begin(), axes.end(), at) != axes.end())
      return std::nullopt;
    axes.push_back(at);
  }
  return axes;
}

/// The scales of these dimensions, as far as they are known.
std::vector<double> known_scales(Definition& d, const std::vector<size_t>& axes) {
  const bool is_old = d.node().op == "Upsample" || d.opset() < 11;
  const auto known = [&](size_t k) {
    const bool is_full = d.has(k) && d.operand(k).value &&
                         d.operand(k).value->elements() == static_cast<int64_t>(axes.size());
    return is_full ? d.operand(k).value : nullptr;
  };
  const bool has_attributes = d.node().op == "Upsample";
  if (has_attributes && (d.has_attribute("height_scale") || d.has_attribute("width_scale")))
    return {1, 1, d.real("height_scale", 1), d.real("width_scale", 1)};
  std::vector<double> scales = has_attributes ? d.reals("scales") : std::vector<double>{};
  if (const Tensor* given = known(is_old ? 1 : 2); scales.empty() && given)
    for (int64_t k = 0; k < given->elements(); ++k)
      scales.push_back(given->get_double(k));
  else if (const Tensor* sizes = is_old ? nullptr : known(3); scales.empty() && sizes)
    for (size_t k = 0; k < axes.size(); ++k)
      scales.push_back(static_cast<double>(sizes->get_int(static_cast<int64_t>(k))) /
                       static_cast<double>(d.shape(0)[axes[k]]));
  return scales;
}

/// How often each element is repeated per dimension, when that is known and whole.
std::optional<std::vector<int64_t>> repeats_of(Definition& d) {
  const auto axes = listed_axes(d);
  if (!axes)
    return std::nullopt;
  const std::vector<double> scales = known_scales(d, *axes);
  if (scales.size() != axes->size() || d.rank(0) == 0)
    return std::nullopt;
  std::vector<int64_t> repeats(d.shape(0).size(), 1);
  constexpr double kMost = 1 << 20;
  for (size_t k = 0; k < scales.size(); ++k) {
    if (!(scales[k] >= 1 && scales[k] <= kMost && scales[k] == std::floor(scales[k])))
      return std::nullopt;
    repeats[(*axes)[k]] = static_cast<int64_t>(scales[k]);
  }
  return repeats;
}

/// Whole enlargements by repeating elements are programs; all others are left to a function.
void resize(Definition& d) {
  if (!d.need(0))
    return;
  const auto repeats =
      repeats_elements(d) && product(d.shape(0)) > 0 ? repeats_of(d) : std::nullopt;
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
  if (!graph::elements_of(result))
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
