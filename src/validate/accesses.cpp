#include "validate/accesses.h"

#include "kernel/walk.h"
#include "scalar/loads.h"
#include "validate/elements.h"

#include <algorithm>

namespace kawara::validate {

using scalar::Expr;
using scalar::int_lit;

namespace {

/// The variable or element that a value is, through conversions.
const Expr& through_casts(const Expr& e) {
  const auto* cast = scalar::as<scalar::Cast>(e);
  return cast != nullptr ? through_casts(cast->arg) : e;
}

} // namespace

AccessReader::AccessReader(const poly::Scop& scop, const kernel::Kernel& kernel, size_t most)
    : scop_(scop), kernel_(kernel), most_(most) {
  kernel::visit(kernel.body, [&](const kernel::Assign& s) { assigned_.insert(s.var); });
}

void AccessReader::note_read(uint32_t buffer) {
  if (const auto window = windows_.find(buffer); window != windows_.end())
    window->second.is_read = true;
}

uint32_t AccessReader::Instance::lane_of(int64_t lanes) const {
  size_t at = points.size(), found = 0;
  for (size_t p = 0; p < points.size(); ++p)
    if (scalar::constant_of(points[p]) == lanes) {
      at = p;
      ++found;
    }
  return static_cast<uint32_t>(loops + (found == 1 ? at : points.size()));
}

void AccessReader::at(const kernel::Stmt& stmt, const Place& place) {
  if (accesses_.compared + in_vain_ >= most_)
    return not_compared("accesses after the first " + std::to_string(most_));
  if (const auto* s = std::get_if<kernel::Store>(&stmt))
    store(*s, place);
  else if (const auto* d = std::get_if<kernel::Define>(&stmt))
    define(*d, place);
  else if (const auto* a = std::get_if<kernel::Assign>(&stmt))
    assign(*a, place);
  else if (const auto* c = std::get_if<kernel::Combine>(&stmt)) {
    if (auto held = held_by(c->value))
      bound_[c->var] = *std::move(held);
  } else if (const auto* allocate = std::get_if<kernel::Allocate>(&stmt))
    windows_.erase(allocate->buffer);
}

void AccessReader::store(const kernel::Store& s, const Place& place) {
  if (s.origins.empty())
    return copy_out(s, place);
  const auto instance = instance_of(s.origins, place);
  if (!instance)
    return;
  check_write(s, *instance, place);
  check_reads(reads_of(s.value, place), *instance, place);
}

void AccessReader::define(const kernel::Define& d, const Place& place) {
  if (kernel_.variables[d.var].type == scalar::kIndex)
    return;
  if (!assigned_.contains(d.var)) {
    defined_[d.var] = reads_of(d.value, place);
    if (d.origins.empty()) {
      if (auto held = held_by(d.value))
        bound_[d.var] = *std::move(held);
      return;
    }
  }
  bound_.erase(d.var);
  copied_in_.erase(d.var);
  if (!d.origins.empty()) {
    if (const auto instance = instance_of(d.origins, place)) {
      bind(d.var, *instance, place);
      check_reads(reads_of(d.value, place), *instance, place);
    }
    return;
  }
  const auto* load = scalar::as<scalar::Load>(through_casts(d.value));
  if (load == nullptr)
    return;
  std::vector<Expr> index;
  for (const Expr& e : load->index)
    index.push_back(place.in_dimensions(e));
  if (const auto element = at_lane(index, kLane))
    copied_in_[d.var] = {load->tensor, *element, place.numbers, {}};
  note_read(load->tensor);
}

void AccessReader::assign(const kernel::Assign& a, const Place& place) {
  if (a.origins.empty() || kernel_.variables[a.var].type == scalar::kIndex)
    return;
  const auto instance = instance_of(a.origins, place);
  if (!instance)
    return;
  bind(a.var, *instance, place);
  check_reads(reads_of(a.value, place, a.var), *instance, place);
}

std::optional<AccessReader::Instance> AccessReader::instance_of(const kernel::Origins& origins,
                                                                const Place& place) {
  const kernel::Origin& origin = origins.front();
  Instance instance{
      origin.statement, &scop_.statements[origin.statement].text, {}, {}, place.loops};
  if (origins.size() > 1) {
    not_compared("accesses of " + instance.text->name + ": one statement runs several");
    return std::nullopt;
  }
  if (instance.text->over) {
    not_compared("accesses of " + instance.text->name +
                 ": it runs over a range that is read from data");
    return std::nullopt;
  }
  bool is_known = true;
  for (const Expr& e : origin.iters)
    is_known = (instance.iters.emplace_back(place.of_origin(e))) && is_known;
  for (const Expr& e : origin.points)
    is_known = (instance.points.emplace_back(place.of_origin(e))) && is_known;
  if (!is_known)
    return std::nullopt; // said of its instances
  if (ranges_ == nullptr || ranges_of_ != place.conditions.size() || ranges_at_ != place.numbers) {
    ranges_ = std::make_shared<const DimensionRanges>(ranges_in(place.conditions));
    ranges_of_ = place.conditions.size();
    ranges_at_ = place.numbers;
  }
  instance.ranges = ranges_;
  if (!instance.points.empty()) {
    auto with_points = std::make_shared<DimensionRanges>(*ranges_);
    for (uint32_t p = 0; p < instance.points.size(); ++p)
      if (const auto count = scalar::constant_of(instance.points[p]))
        (*with_points)[static_cast<uint32_t>(place.loops) + p] = {0, *count - 1};
    instance.ranges = with_points;
  }
  return instance;
}

/// What the variable holds is that instance's element: what was read into it before must be the
/// same.
void AccessReader::bind(uint32_t var, const Instance& instance, const Place& place) {
  const program::Statement& text = *instance.text;
  Bound bound{text.tensor, element_of(text.index, instance), place.numbers, instance};
  const int64_t lanes = kernel_.variables[var].type.lanes;
  if (lanes > 1)
    for (Expr& e : bound.element)
      e = with_dimension(e, instance.lane_of(lanes), kLane);
  const auto in = copied_in_.find(var);
  if (in != copied_in_.end() && in->second.buffer == text.tensor) {
    const Bound& from = in->second;
    const auto common = static_cast<uint32_t>(common_loops(from.numbers, place.numbers));
    const auto apart =
        differences(text.tensor, from.element, bound.element, place, Learning::Never);
    if (apart && !uses_dimensions(from.element, common, kLane)) {
      ++accesses_.compared;
      if (!are_zero(apart->functions) && !uses_dimensions(apart->functions, kLane, kLane + 1))
        ask(text.name + " updates " + text_of(text.tensor, from.element, instance, place),
            text.tensor, instance, place, {}, 1, {*apart});
    }
    copied_in_.erase(in);
  }
  const auto known = bound_.find(var);
  if (known == bound_.end())
    bound_.emplace(var, std::move(bound));
  else if (!are_same(known->second.element, bound.element))
    known->second.buffer = UINT32_MAX; // different elements, one after the other
}

/// What is stored for no statement of its own brings elements that variables hold to their places:
/// an element as it is, or partial sums of it.
void AccessReader::copy_out(const kernel::Store& s, const Place& place) {
  if (s.buffer >= scop_.tensors.size())
    return not_compared("copies to buffers that passes made");
  std::vector<Expr> index;
  for (const Expr& e : s.index)
    index.push_back(place.in_dimensions(e));
  const auto touched = at_lane(index, kLane);
  const auto held = touched ? held_by(s.value) : std::nullopt;
  if (!held || held->buffer != s.buffer)
    return not_compared("copies to tensors, which stand for no statement");
  compare_held(s, *touched, *held, place);
  for (const scalar::Load* load : scalar::loads_in(s.value)) {
    if (load->tensor != s.buffer)
      continue;
    std::vector<Expr> read;
    for (const Expr& e : load->index)
      read.push_back(place.in_dimensions(e));
    if (const auto element = at_lane(read, kLane))
      compare_held(s, *element, *held, place);
  }
}

void AccessReader::compare_held(const kernel::Store& s, const std::vector<Expr>& touched,
                                const Bound& held, const Place& place) {
  const auto common = static_cast<uint32_t>(common_loops(held.numbers, place.numbers));
  const auto apart = differences(s.buffer, touched, held.element, place, Learning::Never);
  if (!apart || uses_dimensions(apart->functions, common, kLane))
    return in_vain("copies to tensors out of variables");
  ++accesses_.compared;
  if (are_zero(apart->functions))
    return;
  const auto lane = static_cast<uint32_t>(place.loops);
  Instance here{held.instance.statement, held.instance.text, {}, {}, place.loops};
  std::vector<Expr> in_lanes;
  for (const Expr& e : apart->functions)
    in_lanes.push_back(with_dimension(e, kLane, lane));
  if (const int64_t lanes = s.value.type().lanes; lanes > 1)
    here.points.push_back(int_lit(lanes));
  ask(held.instance.text->name + " is copied to " + text_of(s.buffer, touched, here, place) +
          ", not to " + text_of(s.buffer, held.element, here, place),
      s.buffer, here, place, {}, 1, {{in_lanes, apart->is_exact}});
}

/// The one element that the variables in a value hold.
std::optional<AccessReader::Bound> AccessReader::held_by(const Expr& value) const {
  std::optional<Bound> held;
  bool is_one = true;
  scalar::visit(value, [&](const Expr& e) {
    const auto* var = scalar::as<scalar::Var>(e);
    const auto found = var != nullptr ? bound_.find(var->id) : bound_.end();
    if (found == bound_.end())
      return;
    is_one = is_one && (!held || (held->buffer == found->second.buffer &&
                                  are_same(held->element, found->second.element)));
    held = found->second;
  });
  return is_one ? held : std::nullopt;
}

void AccessReader::check_write(const kernel::Store& s, const Instance& instance,
                               const Place& place) {
  const program::Statement& text = *instance.text;
  if (s.buffer != text.tensor)
    return not_compared("what " + text.name + " writes: " + kernel_.buffers[s.buffer].name +
                        " instead of " + scop_.tensors[text.tensor].name);
  std::vector<Expr> index;
  int64_t lanes = 1;
  for (const Expr& e : s.index) {
    index.push_back(place.in_dimensions(e));
    lanes = std::max<int64_t>(lanes, e.type().lanes);
  }
  const uint32_t lane = instance.lane_of(lanes);
  const auto touched = at_lane(index, lane);
  const auto apart = touched ? differences(s.buffer, *touched, element_of(text.index, instance),
                                           place, Learning::Anew)
                             : std::nullopt;
  if (!apart)
    return in_vain("elements of " + scop_.tensors[text.tensor].name + " that " + text.name +
                   " writes");
  ++accesses_.compared;
  if (!are_zero(apart->functions))
    ask(text.name + " stores to " + text_of(s.buffer, *touched, instance, place) + ", not to " +
            text_of(s.buffer, element_of(text.index, instance), instance, place),
        s.buffer, instance, place, {}, instance.is_point(lane) ? 1 : lanes, {*apart});
}

AccessReader::Layout AccessReader::layout_of(uint32_t buffer) const {
  if (buffer >= scop_.tensors.size())
    return Layout::Other;
  const kernel::Buffer& made = kernel_.buffers[buffer];
  const program::Tensor& tensor = scop_.tensors[buffer];
  const bool is_whole =
      made.shape.size() == tensor.shape.size() &&
      std::equal(made.shape.begin(), made.shape.end(), tensor.shape.begin(),
                 [](const Expr& a, const Expr& b) { return scalar::equal(a, b); });
  if (made.scope == kernel::Scope::Argument)
    return is_whole ? Layout::Same : Layout::Other;
  if (made.scope == kernel::Scope::Workspace && is_whole)
    return Layout::Same;
  const bool drops = made.shape.size() + tensor.private_dims == tensor.shape.size();
  return made.shape.size() == tensor.shape.size() || drops ? Layout::Window : Layout::Other;
}

std::optional<Apart> AccessReader::differences(uint32_t buffer, const std::vector<Expr>& touched,
                                               const std::vector<Expr>& element, const Place& place,
                                               Learning learning) {
  const Layout layout = layout_of(buffer);
  if (layout == Layout::Other)
    return std::nullopt;
  const std::vector<Expr>& shape = kernel_.buffers[buffer].shape;
  const std::vector<Expr> within(element.end() - static_cast<std::ptrdiff_t>(shape.size()),
                                 element.end());
  const bool is_flat = touched.size() == 1 && shape.size() > 1;
  if (touched.size() != shape.size() && !is_flat)
    return std::nullopt;
  const auto position = [&](const std::vector<Expr>& index) {
    Expr sum = index.empty() ? int_lit(0) : index[0];
    for (size_t d = 1; d < index.size(); ++d)
      sum = sum * shape[d] + index[d];
    return sum;
  };
  if (layout == Layout::Same) {
    if (is_flat) {
      const std::vector<Expr> parts = differences_by_stride(touched[0], position(within));
      return Apart{parts, parts.size() == 1};
    }
    Apart apart;
    for (size_t d = 0; d < touched.size(); ++d)
      apart.functions.push_back(difference_of(within[d], touched[d]));
    return apart;
  }
  // Rows of a part may be longer than the tensor's, and the part begins elsewhere.
  const Expr there = position(within), here = is_flat ? touched[0] : position(touched);
  const Expr offset = difference_of(there, here);
  const bool is_offset =
      !uses_dimensions({offset}, static_cast<uint32_t>(place.loops), kLane + 1) && is_sum(offset);
  const auto known = windows_.find(buffer);
  if (known != windows_.end()) {
    const Window& window = known->second;
    const auto common = static_cast<uint32_t>(common_loops(window.numbers, place.numbers));
    const std::vector<Expr> parts = differences_by_stride(there, here + window.offset);
    const bool is_same_iteration = !uses_dimensions({window.offset}, common, kLane + 1);
    const bool may_be_next = learning == Learning::Anew && window.is_read && is_offset;
    if (is_same_iteration && (!may_be_next || are_zero(parts)))
      return Apart{parts, parts.size() == 1};
  }
  if (learning == Learning::Never || !is_offset)
    return std::nullopt;
  windows_[buffer] = {offset, place.numbers, false};
  return Apart{{int_lit(0)}};
}

std::vector<Expr> AccessReader::element_of(const std::vector<Expr>& index,
                                           const Instance& instance) const {
  std::vector<Expr> element;
  for (const Expr& e : index)
    element.push_back(folded(scalar::substitute_iters(e, instance.iters), *instance.ranges));
  return element;
}

std::optional<std::vector<Expr>> AccessReader::at_lane(const std::vector<Expr>& index,
                                                       uint32_t lane) const {
  std::vector<Expr> element;
  for (const Expr& e : index) {
    const Expr inside = e ? in_lane(e, scalar::iter(lane)) : Expr();
    if (!inside)
      return std::nullopt;
    element.push_back(tidy(inside));
  }
  return element;
}

void AccessReader::ask(std::string what, uint32_t buffer, const Instance& instance,
                       const Place& place, std::vector<Expr> conditions, int64_t lanes,
                       std::vector<Apart> alternatives) {
  conditions.insert(conditions.begin(), place.conditions.begin(), place.conditions.end());
  accesses_.questions.push_back(
      {std::move(what),
       "elements of " + kernel_.buffers[buffer].name + " that " + instance.text->name + " touches",
       instance.statement, instance.iters, instance.loops, instance.points, lanes,
       std::move(conditions), std::move(alternatives)});
}

std::string AccessReader::text_of(uint32_t buffer, const std::vector<Expr>& index,
                                  const Instance& instance, const Place& place) const {
  scalar::Names names;
  for (const program::Param& param : kernel_.params)
    names.params.push_back(param.name);
  for (const uint32_t var : place.vars)
    names.iters.push_back(kernel_.variables[var].name);
  for (size_t p = 0; p <= instance.points.size(); ++p)
    names.iters.push_back("lane" + (p == 0 ? "" : "_" + std::to_string(p)));
  std::string list;
  for (const Expr& e : index)
    list += (list.empty() ? "" : ", ") +
            scalar::to_string(with_dimension(e, kLane, static_cast<uint32_t>(place.loops)), names);
  return kernel_.buffers[buffer].name + "[" + list + "]";
}

} // namespace kawara::validate
