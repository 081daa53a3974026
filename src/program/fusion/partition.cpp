#include "program/fusion/partition.h"

#include "program/fusion/nests.h"
#include "support/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace kawara::program::fusion {
namespace {

/// Groups that grow past this gain little and take long to compile.
constexpr size_t kMostMembers = 24, kMostOperands = 16, kMostResults = 3;
/// Longer programs (recurrent nets) are busy enough with themselves.
constexpr size_t kMostStatements = 8;

int64_t bytes_of_value(const Part& part, size_t tensor) {
  const Tensor& t = part.program.tensors[tensor];
  const Extents extents = extents_of(t);
  return std::accumulate(extents.begin(), extents.end(), scalar::bytes_of(t.elem),
                         std::multiplies<>());
}

class Partitioner {
public:
  Partitioner(const std::vector<Draft>& drafts, const std::set<ValueId>& needed)
      : drafts_(drafts), needed_(needed), group_of_(drafts.size()), groups_(drafts.size()) {
    for (size_t d = 0; d < drafts.size(); ++d) {
      group_of_[d] = d;
      groups_[d] = alone(drafts[d], d);
      is_map_.push_back(is_map(drafts[d].part.program));
      const Part& part = drafts[d].part;
      for (size_t t = 0; t < part.values.size(); ++t) {
        if (part.values[t] == kNoValue)
          continue;
        if (part.program.tensors[t].role == Role::Output) {
          maker_[part.values[t]] = d;
          bytes_[part.values[t]] = bytes_of_value(part, t);
        } else {
          readers_[part.values[t]].push_back(d);
        }
      }
    }
  }

  static Group alone(const Draft& draft, size_t number) {
    Group group{{number}, mapping_of(draft.op), draft.text, {}, {}, 0};
    for (size_t t = 0; t < draft.part.values.size(); ++t)
      if (draft.part.program.tensors[t].role == Role::Input)
        group.operands.push_back(draft.part.values[t]);
      else if (draft.part.program.tensors[t].role == Role::Output)
        group.results.push_back(draft.part.values[t]);
    return group;
  }

  Partition run() {
    for (size_t d = 0; d < drafts_.size(); ++d)
      if (!is_map_[d])
        grow(d);
    for (const size_t d : seeds())
      if (groups_[group_of_[d]].members.size() == 1)
        grow(d);
    for (const size_t d : seeds())
      push_down(group_of_[d]);
    return {ordered(), borders()};
  }

private:
  /// Element-wise operators, those with the smallest results first.
  std::vector<size_t> seeds() const {
    std::vector<size_t> out;
    for (size_t d = 0; d < drafts_.size(); ++d)
      if (is_map_[d])
        out.push_back(d);
    const auto size = [&](size_t d) {
      const auto at = bytes_.find(groups_[d].results.empty() ? kNoValue : groups_[d].results[0]);
      return at == bytes_.end() ? 0 : at->second;
    };
    std::vector<int64_t> sizes;
    for (size_t d = 0; d < drafts_.size(); ++d)
      sizes.push_back(size(d));
    std::stable_sort(out.begin(), out.end(),
                     [&](size_t a, size_t b) { return sizes[a] < sizes[b]; });
    return out;
  }

  std::vector<size_t> readers_of(ValueId value) const {
    const auto at = readers_.find(value);
    return at == readers_.end() ? std::vector<size_t>{} : at->second;
  }

  /// Adds element-wise readers of the group's results as long as there are some that fit.
  void grow(size_t draft) {
    const size_t group = group_of_[draft];
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (const ValueId value : results_of(group))
        for (const size_t reader : readers_of(value))
          if (!is_changed && is_map_[reader] && group_of_[reader] != group)
            is_changed = merge(group, group_of_[reader], group);
    }
  }

  std::vector<ValueId> results_of(size_t group) const {
    std::vector<ValueId> values;
    for (const size_t d : groups_[group].members)
      for (size_t t = 0; t < drafts_[d].part.values.size(); ++t)
        if (drafts_[d].part.program.tensors[t].role == Role::Output &&
            drafts_[d].part.values[t] != kNoValue)
          values.push_back(drafts_[d].part.values[t]);
    return values;
  }

  bool is_map_group(const Group& group) const {
    return std::all_of(group.members.begin(), group.members.end(),
                       [&](size_t d) { return is_map_[d]; });
  }

  /// An element-wise group whose results one other group reads alone can be computed there.
  void push_down(size_t group) {
    if (!is_map_group(groups_[group]))
      return;
    std::set<size_t> users;
    for (const ValueId value : groups_[group].results) {
      if (needed_.count(value))
        return;
      for (const size_t reader : readers_of(value))
        users.insert(group_of_[reader]);
    }
    if (users.size() == 1)
      merge(group, *users.begin(), *users.begin());
  }

  /// Makes `first` and `second`, which reads results of it, one; `into` is the one that stays.
  bool merge(size_t first, size_t second, size_t into) {
    const auto problem = try_merge(first, second, into);
    if (problem)
      refusals_[{first, second}] = *problem;
    return !problem;
  }

  std::optional<std::string> try_merge(size_t first, size_t second, size_t into) {
    const Group &a = groups_[first], &b = groups_[second];
    const Pairing pairing = pairing_of(a.mapping, b.mapping);
    if (pairing.verdict == Verdict::Never)
      return fmt::format("{} followed by {} is never fused", name_of(a.mapping),
                         name_of(b.mapping));
    if (pairing.verdict == Verdict::Maybe && (!is_map_group(a) || !is_map_group(b)))
      return fmt::format("{} followed by {} is fused between element-wise operators only",
                         name_of(a.mapping), name_of(b.mapping));
    for (const Group* group : {&a, &b})
      for (const size_t d : group->members)
        if (drafts_[d].is_fixed)
          return fmt::format("{} only puts its inputs in their places", drafts_[d].op);
        else if (drafts_[d].part.program.statements.size() > kMostStatements)
          return fmt::format("{} has {} statements of its own", drafts_[d].op,
                             drafts_[d].part.program.statements.size());
    for (const size_t d : b.members)
      if (reads_from_memory(drafts_[d].op))
        return fmt::format("{} reads its operands as they lie in memory", drafts_[d].op);
    if (a.members.size() + b.members.size() > kMostMembers)
      return fmt::format("the group would have more than {} operators", kMostMembers);
    if (is_reached_around(first, second))
      return std::string("a path leaves the group and comes back");
    Group both;
    both.members = a.members;
    both.members.insert(both.members.end(), b.members.begin(), b.members.end());
    std::sort(both.members.begin(), both.members.end());
    both.mapping = pairing.result;
    const auto composed = composed_of(both.members);
    if (!composed)
      return composed.error();
    if (composed->operands.size() > kMostOperands || composed->results.size() > kMostResults)
      return std::string("the kernel would have too many operands");
    both.text = composed->text;
    both.operands = composed->operands;
    both.results = composed->results;
    both.bytes_saved = bytes_saved(both);
    for (const size_t d : both.members)
      group_of_[d] = into;
    groups_[into] = std::move(both);
    groups_[into == first ? second : first].members.clear();
    return std::nullopt;
  }

  /// One program for these drafts. Layers of a net repeat each other: drafts of the same texts that
  /// are wired alike are composed once.
  Result<Composed, std::string> composed_of(const std::vector<size_t>& members) {
    const std::set<ValueId> stored = stored_by(members);
    std::vector<ValueId> values; // by the order in which the members mention them
    std::string key;
    for (const size_t d : members) {
      key += drafts_[d].text;
      for (const ValueId value : drafts_[d].part.values) {
        const auto at = std::find(values.begin(), values.end(), value);
        key += fmt::format(" {}{}", at - values.begin(), stored.count(value) ? "!" : "");
        if (at == values.end())
          values.push_back(value);
      }
      key += '\n';
    }
    auto known = compositions_.find(key);
    if (known == compositions_.end()) {
      std::vector<Part> parts;
      std::set<ValueId> needed;
      const auto renumbered = [&](ValueId value) {
        const auto at = std::find(values.begin(), values.end(), value) - values.begin();
        return value == kNoValue ? kNoValue : static_cast<ValueId>(at);
      };
      for (const size_t d : members) {
        parts.push_back(drafts_[d].part);
        for (ValueId& value : parts.back().values)
          value = renumbered(value);
      }
      for (const ValueId value : stored)
        needed.insert(renumbered(value));
      known = compositions_.emplace(key, compose(std::move(parts), needed)).first;
    }
    if (!known->second)
      return known->second;
    Composed out = *known->second;
    for (auto* list : {&out.operands, &out.results})
      for (ValueId& value : *list)
        value = values[value];
    return out;
  }

  /// Values that the members make and others read.
  std::set<ValueId> stored_by(const std::vector<size_t>& members) const {
    const std::set<size_t> inside(members.begin(), members.end());
    std::set<ValueId> stored;
    for (const size_t d : members)
      for (size_t t = 0; t < drafts_[d].part.values.size(); ++t) {
        const ValueId value = drafts_[d].part.values[t];
        if (value == kNoValue || drafts_[d].part.program.tensors[t].role != Role::Output)
          continue;
        const std::vector<size_t> readers = readers_of(value);
        if (needed_.count(value) ||
            std::any_of(readers.begin(), readers.end(), [&](size_t r) { return !inside.count(r); }))
          stored.insert(value);
      }
    return stored;
  }

  int64_t bytes_saved(const Group& group) const {
    const std::set<ValueId> results(group.results.begin(), group.results.end());
    int64_t bytes = 0;
    for (const size_t d : group.members)
      for (size_t t = 0; t < drafts_[d].part.values.size(); ++t) {
        const ValueId value = drafts_[d].part.values[t];
        const auto at = bytes_.find(value);
        if (value == kNoValue || at == bytes_.end() || !maker_.count(value))
          continue;
        const bool is_inside =
            std::binary_search(group.members.begin(), group.members.end(), maker_.at(value));
        if (!is_inside)
          continue;
        const bool is_write = drafts_[d].part.program.tensors[t].role == Role::Output;
        // A stored result is still written; what reads it inside reads it no more.
        if (!is_write || !results.count(value))
          bytes += at->second;
      }
    return bytes;
  }

  /// Is there a way from one group to the other through a third?
  bool is_reached_around(size_t first, size_t second) const {
    std::set<size_t> seen;
    std::vector<size_t> open;
    const auto leave = [&](size_t group) {
      for (const ValueId value : results_of(group))
        for (const size_t reader : readers_of(value)) {
          const size_t next = group_of_[reader];
          if (next == first || (group == first && next == second) || !seen.insert(next).second)
            continue;
          open.push_back(next);
        }
    };
    leave(first);
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      if (at == second)
        return true;
      leave(at);
    }
    return false;
  }

  std::vector<Group> ordered() const {
    std::vector<Group> out;
    std::set<size_t> done;
    std::vector<size_t> left;
    for (size_t g = 0; g < groups_.size(); ++g)
      if (!groups_[g].members.empty())
        left.push_back(g);
    std::stable_sort(left.begin(), left.end(), [&](size_t a, size_t b) {
      return groups_[a].members.back() < groups_[b].members.back();
    });
    const auto is_ready = [&](size_t g) {
      return std::all_of(groups_[g].operands.begin(), groups_[g].operands.end(),
                         [&](ValueId value) {
                           const auto at = maker_.find(value);
                           return at == maker_.end() || group_of_[at->second] == g ||
                                  done.count(group_of_[at->second]);
                         });
    };
    while (!left.empty()) {
      const auto next = std::find_if(left.begin(), left.end(), is_ready);
      KAWARA_CHECK(next != left.end(), "groups wait for each other");
      out.push_back(groups_[*next]);
      done.insert(*next);
      left.erase(next);
    }
    return out;
  }

  std::vector<Border> borders() const {
    std::vector<Border> out;
    for (const auto& [value, maker] : maker_)
      for (const size_t reader : readers_of(value)) {
        const size_t a = group_of_[maker], b = group_of_[reader];
        if (a != b)
          out.push_back({maker, reader, value, reason(a, b, value)});
      }
    std::sort(out.begin(), out.end(), [](const Border& x, const Border& y) {
      return std::pair(x.from, x.to) < std::pair(y.from, y.to);
    });
    return out;
  }

  std::string reason(size_t a, size_t b, ValueId value) const {
    if (const auto at = refusals_.find({a, b}); at != refusals_.end())
      return at->second;
    const Pairing pairing = pairing_of(groups_[a].mapping, groups_[b].mapping);
    if (pairing.verdict == Verdict::Never)
      return fmt::format("{} followed by {} is never fused", name_of(groups_[a].mapping),
                         name_of(groups_[b].mapping));
    if (needed_.count(value) || readers_of(value).size() > 1)
      return "others read the value, too";
    return fmt::format("{} followed by {} gains nothing here", name_of(groups_[a].mapping),
                       name_of(groups_[b].mapping));
  }

  const std::vector<Draft>& drafts_;
  const std::set<ValueId>& needed_;
  std::vector<size_t> group_of_; ///< by draft
  std::vector<Group> groups_;    ///< by their first draft; without members: gone
  std::vector<bool> is_map_;     ///< by draft
  std::map<ValueId, size_t> maker_;
  std::map<ValueId, std::vector<size_t>> readers_;
  std::map<ValueId, int64_t> bytes_;
  std::map<std::pair<size_t, size_t>, std::string> refusals_; ///< by groups
  std::map<std::string, Result<Composed, std::string>> compositions_;
};

} // namespace

Partition partition(const std::vector<Draft>& drafts, const std::set<ValueId>& needed) {
  return Partitioner(drafts, needed).run();
}

Partition run_in_subprocess(const std::vector<Draft>& drafts) {
  Partition out;
  for (size_t d = 0; d < drafts.size(); ++d)
    out.groups.push_back(Partitioner::alone(drafts[d], d));
  return out;
}

} // namespace kawara::program::fusion
