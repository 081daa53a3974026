#include "schedule/loops/arrange.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>
#include <map>
#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::StmtId;
using poly::TreeNode;

namespace {

/// A statement of the directive, resolved.
struct Member {
  const ArrangedStatement* text = nullptr;
  StmtId id{};
  std::vector<LoopId> kept;  ///< loops around that are not named
  std::vector<LoopId> loops; ///< named, in the order of the directive
};

class Arranger {
public:
  Arranger(const Schedule& schedule, const Arrange& arrange)
      : schedule_(schedule), order_(schedule.order), arrange_(arrange),
        request_(request_of(arrange)) {}

  Proposed arranged() {
    for (const ArrangedStatement& text : arrange_.statements) {
      KAWARA_TRY(Member member, resolved(text));
      members_.push_back(std::move(member));
    }
    std::vector<size_t> all;
    for (size_t m = 0; m < members_.size(); ++m) {
      if (members_[m].kept != members_.front().kept)
        return fail(refusal(m, "other loops stay around it than around " +
                                   members_.front().text->statement));
      all.push_back(m);
    }
    KAWARA_TRY(const Range range, replaced());
    KAWARA_TRY(std::vector<TreeNode> made, nodes(all, 0));
    for (const Member& member : members_)
      set_rows(member);
    std::vector<TreeNode>& body = body_around();
    const auto at = body.erase(body.begin() + range.begin, body.begin() + range.end);
    body.insert(at, std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
    return with_order(schedule_, std::move(order_));
  }

private:
  struct Range {
    std::ptrdiff_t begin = 0, end = 0;
  };

  Refusal::Shape refusal(size_t member, std::string why) const {
    return refusal(members_[member].id, std::move(why));
  }
  Refusal::Shape refusal(StmtId id, std::string why) const {
    return shape_refusal(kCannotArrange,
                         request_ + ": " + schedule_.scop[id].text.name + ": " + std::move(why),
                         schedule_.scop[id].text.where);
  }

  Result<Member, Refusal::Shape> resolved(const ArrangedStatement& text) const {
    KAWARA_TRY(const StmtId id, resolve_statement(schedule_, text.statement, request_));
    if (std::any_of(members_.begin(), members_.end(),
                    [&](const Member& other) { return other.id == id; }))
      return fail(refusal(id, "it is given twice"));
    std::vector<LoopId> path = poly::path_of(order_, id);
    if (text.loops.size() > path.size())
      return fail(refusal(id, loops_around(path)));
    Member member{&text, id, {}, {}};
    const auto first = path.end() - static_cast<std::ptrdiff_t>(text.loops.size());
    member.kept.assign(path.begin(), first);
    for (const ArrangedStatement::Around& around : text.loops) {
      const auto found = std::find_if(
          first, path.end(), [&](LoopId loop) { return order_[loop].name == around.loop; });
      if (found == path.end() ||
          std::find(member.loops.begin(), member.loops.end(), *found) != member.loops.end())
        return fail(refusal(id, loops_around(path)));
      if (order_[*found].is_coalesced_into_parent)
        return fail(refusal(id, "loop `" + around.loop + "` runs as one with another"));
      member.loops.push_back(*found);
    }
    return member;
  }

  std::string loops_around(const std::vector<LoopId>& path) const {
    std::vector<LoopName> names;
    for (const LoopId loop : path)
      names.push_back({std::nullopt, order_[loop].name});
    return "the loops around it are " + (names.empty() ? "none" : quoted(names)) +
           "; name the inner ones of them, each once";
  }

  std::vector<TreeNode>& body_around() {
    const std::vector<LoopId>& kept = members_.front().kept;
    return kept.empty() ? order_.body : poly::find_node(order_, kept.back())->body;
  }

  /// What the statements stand in now: neighbours, with no statement that is left out.
  Result<Range, Refusal::Shape> replaced() {
    std::set<StmtId> given;
    for (const Member& member : members_)
      given.insert(member.id);
    const std::vector<TreeNode>& body = body_around();
    Range range{-1, -1};
    for (size_t k = 0; k < body.size(); ++k) {
      const std::vector<StmtId> below = poly::statements_below(body[k]);
      const auto missing =
          std::find_if(below.begin(), below.end(), [&](StmtId id) { return !given.contains(id); });
      if (std::none_of(below.begin(), below.end(), [&](StmtId id) { return given.contains(id); }))
        continue;
      if (missing != below.end())
        return fail(refusal(*missing, "it stands in a loop that changes, and is left out"));
      const auto at = static_cast<std::ptrdiff_t>(k);
      if (range.begin >= 0 && range.end != at)
        return fail(refusal(poly::statements_below(body[static_cast<size_t>(range.end)]).front(),
                            "it stands between them, and is left out"));
      range = {range.begin < 0 ? at : range.begin, at + 1};
    }
    return range;
  }

  /// The members, whose first `depth` loops are shared, by place.
  Result<std::vector<TreeNode>, Refusal::Shape> nodes(const std::vector<size_t>& members,
                                                      size_t depth) {
    std::map<int64_t, std::vector<size_t>> by_place;
    for (const size_t m : members)
      by_place[members_[m].text->places[depth]].push_back(m);
    std::vector<TreeNode> made;
    for (const auto& [place, here] : by_place) {
      const auto is_leaf = [&](size_t m) { return members_[m].loops.size() == depth; };
      const auto leaf = std::find_if(here.begin(), here.end(), is_leaf);
      if (leaf != here.end() && here.size() > 1)
        return fail(
            refusal(*leaf, "another statement has the same place " + std::to_string(place)));
      if (leaf != here.end()) {
        made.push_back({members_[*leaf].id, {}});
        continue;
      }
      TreeNode node{identity(members_[here.front()].loops[depth]), {}};
      KAWARA_TRY(node.body, nodes(here, depth + 1));
      made.push_back(std::move(node));
    }
    return made;
  }

  /// A loop keeps its identity where it stands first; elsewhere a copy of it stands.
  LoopId identity(LoopId loop) {
    if (used_.insert(loop).second)
      return loop;
    const poly::OrderLoop original = order_[loop];
    const LoopId copy = poly::add_loop(order_, original.name, original.where);
    order_[copy] = original;
    return copy;
  }

  void set_rows(const Member& member) {
    const std::vector<LoopId> path = poly::path_of(schedule_.order, member.id);
    std::vector<scalar::Expr> rows(schedule_.order.rows[member.id.value].begin(),
                                   schedule_.order.rows[member.id.value].begin() +
                                       static_cast<std::ptrdiff_t>(member.kept.size()));
    for (size_t k = 0; k < member.loops.size(); ++k) {
      const auto at = std::find(path.begin(), path.end(), member.loops[k]) - path.begin();
      const scalar::Expr& row = schedule_.order.rows[member.id.value][static_cast<size_t>(at)];
      const int64_t shift = member.text->loops[k].shift;
      rows.push_back(shift == 0 ? row : scalar::simplify(row + scalar::int_lit(shift)));
    }
    order_.rows[member.id.value] = std::move(rows);
  }

  const Schedule& schedule_;
  Order order_;
  const Arrange& arrange_;
  const std::string request_;
  std::vector<Member> members_;
  std::set<LoopId> used_;
};

} // namespace

Proposed propose(const Schedule& schedule, const Arrange& arrange, const Environment&) {
  return Arranger(schedule, arrange).arranged();
}

} // namespace kawara::schedule
