#include "scalar/loads.h"
#include "validate/accesses.h"

#include <algorithm>

namespace kawara::validate {

void AccessReader::check_reads(const Reads& reads, const Instance& instance, const Place& place) {
  const program::Statement& text = *instance.text;
  std::vector<const scalar::Load*> wanted = scalar::loads_in(text.value);
  std::set<size_t> found;
  for (const Touch& touch : reads.touches) {
    check_read(touch, wanted, instance, place, found);
    note_read(touch.buffer);
  }
  if (!reads.has_more)
    check_all_read(reads, wanted, found, instance, place);
}

/// The element is one of those that the program reads there.
void AccessReader::check_read(const Touch& touch, const std::vector<const scalar::Load*>& wanted,
                              const Instance& instance, const Place& place,
                              std::set<size_t>& found) {
  const program::Statement& text = *instance.text;
  const uint32_t lane = instance.lane_of(touch.lanes);
  const auto touched = at_lane(touch.index, lane);
  const std::string& name = kernel_.buffers[touch.buffer].name;
  const std::string what = "elements of " + name + " that " + text.name + " reads";
  if (!touched)
    return in_vain(what + ": their index is not known");
  std::vector<Apart> alternatives;
  std::vector<std::vector<Expr>> elements;
  bool is_equal = false;
  const bool is_only = std::count_if(wanted.begin(), wanted.end(), [&](const scalar::Load* load) {
                         return load->tensor == touch.buffer;
                       }) == 1;
  const auto compare = [&](const std::vector<Expr>& index) {
    const std::vector<Expr> element = element_of(index, instance);
    const auto apart = differences(touch.buffer, *touched, element, place,
                                   is_only ? Learning::First : Learning::Never);
    if (!apart)
      return false;
    const bool is_same = are_zero(apart->functions);
    is_equal = is_equal || is_same;
    alternatives.push_back(*apart);
    elements.push_back(element);
    return is_same;
  };
  for (size_t n = 0; n < wanted.size(); ++n)
    if (wanted[n]->tensor == touch.buffer && compare(wanted[n]->index))
      found.insert(n);
  if (text.op != scalar::ReduceOp::None && text.tensor == touch.buffer && !is_equal)
    compare(text.index);
  if (alternatives.empty())
    return in_vain(what);
  ++accesses_.compared;
  if (is_equal)
    return;
  std::string list;
  for (const std::vector<Expr>& element : elements)
    list += (list.empty() ? "" : " or ") + text_of(touch.buffer, element, instance, place);
  ask(text.name + " reads " + text_of(touch.buffer, *touched, instance, place) + ", not " + list,
      touch.buffer, instance, place, touch.conditions, instance.is_point(lane) ? 1 : touch.lanes,
      alternatives);
}

/// Every element that the program reads there is read, where the kernel reads other elements of the
/// tensor.
void AccessReader::check_all_read(const Reads& reads,
                                  const std::vector<const scalar::Load*>& wanted,
                                  const std::set<size_t>& found, const Instance& instance,
                                  const Place& place) {
  for (size_t n = 0; n < wanted.size(); ++n) {
    const auto is_of_tensor = [&](const scalar::Load* load) {
      return load->tensor == wanted[n]->tensor;
    };
    // What reads one element of a tensor was compared with it.
    if (found.contains(n) || std::count_if(wanted.begin(), wanted.end(), is_of_tensor) == 1)
      continue;
    std::vector<Apart> alternatives;
    const std::vector<Expr> element = element_of(wanted[n]->index, instance);
    bool can_be_said = true;
    for (const Touch& touch : reads.touches) {
      if (touch.buffer != wanted[n]->tensor)
        continue;
      const uint32_t lane = instance.lane_of(touch.lanes);
      const auto touched = at_lane(touch.index, lane);
      const auto apart = touched
                             ? differences(touch.buffer, *touched, element, place, Learning::Never)
                             : std::nullopt;
      can_be_said = can_be_said && apart && touch.conditions.empty() &&
                    (touch.lanes == 1 || instance.is_point(lane));
      if (apart)
        alternatives.push_back(*apart);
    }
    if (can_be_said && !alternatives.empty())
      ask(instance.text->name + " does not read " +
              text_of(wanted[n]->tensor, element, instance, place),
          wanted[n]->tensor, instance, place, {}, 1, alternatives);
  }
}

AccessReader::Reads AccessReader::reads_of(const Expr& value, const Place& place,
                                           std::optional<uint32_t> own) const {
  Reads reads;
  std::vector<Expr> conditions;
  std::set<std::pair<const void*, size_t>> seen;
  collect(value, place, own, conditions, seen, reads);
  return reads;
}

void AccessReader::collect(const Expr& e, const Place& place, std::optional<uint32_t> own,
                           std::vector<Expr>& conditions,
                           std::set<std::pair<const void*, size_t>>& seen, Reads& reads) const {
  if (!seen.emplace(&e.node(), conditions.size()).second)
    return;
  if (const auto* var = scalar::as<scalar::Var>(e)) {
    if (e.type() == scalar::kIndex || var->id == own)
      return;
    const auto known = defined_.find(var->id);
    if (known == defined_.end()) {
      reads.has_more = true;
      return;
    }
    reads.has_more = reads.has_more || known->second.has_more;
    for (Touch touch : known->second.touches) {
      touch.conditions.insert(touch.conditions.end(), conditions.begin(), conditions.end());
      reads.touches.push_back(std::move(touch));
    }
    return;
  }
  if (const auto* load = scalar::as<scalar::Load>(e)) {
    Touch touch{load->tensor, {}, e.type().lanes, conditions};
    for (const Expr& index : load->index) {
      touch.index.push_back(place.in_dimensions(index));
      if (scalar::reads_data(index))
        collect(index, place, own, conditions, seen, reads);
    }
    if (load->tensor < scop_.tensors.size())
      reads.touches.push_back(std::move(touch));
    else
      reads.has_more = true;
    return;
  }
  if (const auto* choice = scalar::as<scalar::Select>(e)) {
    collect(choice->cond, place, own, conditions, seen, reads);
    const Expr condition =
        choice->cond.type().lanes == 1 ? place.in_dimensions(choice->cond) : Expr();
    const bool is_affine = condition && scalar::is_quasi_affine(condition);
    for (const bool is_then : {true, false}) {
      const size_t before = conditions.size();
      if (is_affine)
        conditions.push_back(is_then ? condition : scalar::unary(scalar::UnaryOp::Not, condition));
      std::set<std::pair<const void*, size_t>> inside;
      collect(is_then ? choice->then : choice->otherwise, place, own, conditions, inside, reads);
      conditions.resize(before);
    }
    return;
  }
  for (const Expr& child : scalar::children(e))
    collect(child, place, own, conditions, seen, reads);
}

} // namespace kawara::validate
