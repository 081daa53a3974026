#include "tune/space/point.h"

#include "schedule/schedule.h"

#include <charconv>

namespace kawara::tune {
namespace {

using namespace schedule; // one overload for each directive

using Visitor = std::function<void(LoopName&)>;

void visit_one(Split& d, const Visitor& f) { f(d.loop); }
void visit_one(Tile& d, const Visitor& f) {
  for (auto& [loop, size] : d.loops)
    f(loop);
}
void visit_one(Interchange& d, const Visitor& f) { f(d.a), f(d.b); }
void visit_one(Reorder& d, const Visitor& f) {
  for (LoopName& loop : d.loops)
    f(loop);
}
void visit_one(Skew& d, const Visitor& f) { f(d.loop), f(d.by); }
void visit_one(Shift& d, const Visitor& f) { f(d.loop); }
void visit_one(Reverse& d, const Visitor& f) { f(d.loop); }
void visit_one(Coalesce& d, const Visitor& f) { f(d.outer), f(d.inner); }
void visit_one(Fuse& d, const Visitor& f) { f(d.a), f(d.b); }
void visit_one(Distribute& d, const Visitor& f) { f(d.loop); }
void visit_one(Arrange&, const Visitor&) {}
void visit_one(Cut& d, const Visitor& f) { f(d.loop); }
void visit_one(Isolate& d, const Visitor& f) { f(d.loop); }
void visit_one(ComputeAt& d, const Visitor& f) { f(d.loop); }
void visit_one(Stage& d, const Visitor& f) { f(d.loop); }
void visit_one(Pack& d, const Visitor& f) {
  if (d.loop)
    f(*d.loop);
}
void visit_one(StoreAt& d, const Visitor& f) { f(d.loop); }
void visit_one(StoreIn&, const Visitor&) {}
void visit_one(Layout&, const Visitor&) {}
void visit_one(Pad&, const Visitor&) {}
void visit_one(Extend& d, const Visitor& f) { f(d.loop); }
void visit_one(Fold& d, const Visitor& f) { f(d.loop); }
void visit_one(Promote& d, const Visitor& f) { f(d.loop); }
void visit_one(Prefetch& d, const Visitor& f) { f(d.loop); }
void visit_one(Inline&, const Visitor&) {}
void visit_one(Unroll& d, const Visitor& f) { f(d.loop); }
void visit_one(UnrollAndJam& d, const Visitor& f) { f(d.loop); }
void visit_one(Vectorize& d, const Visitor& f) { f(d.loop); }
void visit_one(Tensorize& d, const Visitor& f) { f(d.loop); }
void visit_one(Bind& d, const Visitor& f) { f(d.loop); }
void visit_one(Pipeline& d, const Visitor& f) { f(d.loop); }
void visit_one(Parallel& d, const Visitor& f) { f(d.loop); }
void visit_one(Rfactor& d, const Visitor& f) { f(d.loop); }
void visit_one(Online& d, const Visitor& f) {
  for (LoopName& loop : d.loops)
    f(loop);
}
void visit_one(Auto&, const Visitor&) {}
void visit_one(Group& d, const Visitor& f) {
  for (Directive& member : d.members)
    visit_loops(member, f);
}

void flatten(const std::vector<Directive>& from, std::vector<Directive>& to) {
  for (const Directive& directive : from)
    if (const auto* group = std::get_if<Group>(&directive))
      flatten(group->members, to);
    else
      to.push_back(directive);
}

/// 3 for "S3".
std::optional<int64_t> number_of(const std::string& statement) {
  int64_t number = 0;
  const char* end = statement.data() + statement.size();
  if (statement.size() < 2 || statement[0] != 'S' ||
      std::from_chars(statement.data() + 1, end, number).ptr != end)
    return std::nullopt;
  return number;
}

} // namespace

std::string text_of(const Point& point) {
  if (point.directives.empty())
    return "";
  if (point.directives.size() == 1)
    return schedule::print(point.directives.front());
  return schedule::print(Directive(Group{point.directives}));
}

std::optional<Point> point_from_text(const std::string& text, std::string sketch) {
  const auto parsed = schedule::parse_directives(make_source("point", text));
  if (!parsed)
    return std::nullopt;
  Point point{{}, std::move(sketch)};
  flatten(*parsed, point.directives);
  return point;
}

void visit_loops(Directive& directive, const Visitor& f) {
  std::visit([&](auto& d) { visit_one(d, f); }, directive);
}

void visit_loops(const Directive& directive, const std::function<void(const LoopName&)>& f) {
  Directive copy = directive;
  visit_loops(copy, Visitor([&](LoopName& loop) { f(loop); }));
}

int64_t added_statements(const Directive& directive) {
  if (std::holds_alternative<Stage>(directive) || std::holds_alternative<Pack>(directive))
    return 1;
  return std::holds_alternative<Rfactor>(directive) ? 2 : 0;
}

std::vector<Directive> without(const std::vector<Directive>& list, size_t index,
                               int64_t statements) {
  int64_t first = statements;
  for (size_t k = 0; k < index; ++k)
    first += added_statements(list[k]);
  const int64_t gone = added_statements(list[index]);
  std::vector<Directive> rest;
  for (size_t k = 0; k < list.size(); ++k) {
    if (k == index)
      continue;
    Directive directive = list[k];
    bool is_about_gone = false;
    visit_loops(directive, Visitor([&](LoopName& loop) {
                  const auto number = loop.statement ? number_of(*loop.statement) : std::nullopt;
                  if (!number || *number < first || gone == 0)
                    return;
                  if (*number < first + gone)
                    is_about_gone = true;
                  else
                    loop.statement = "S" + std::to_string(*number - gone);
                }));
    if (!is_about_gone)
      rest.push_back(std::move(directive));
  }
  return rest;
}

} // namespace kawara::tune
