#include "schedule/legality/narrate.h"

#include "poly/legality/witness.h"
#include "schedule/legality/request.h"
#include "support/text.h"

#include <algorithm>

namespace kawara::schedule {

using poly::Broken;
using poly::Dependence;
using poly::DependenceKind;
using poly::Illegal;
using poly::Order;
using poly::Scop;
using poly::StmtId;

namespace {

/// Everything the sentences are made of.
struct Story {
  const Directive& directive;
  const Scop& scop;
  const Order& after;
  const Illegal& illegal;
  const Dependence& dependence;

  const std::string& name(StmtId statement) const { return scop[statement].text.name; }
  bool is_one_statement() const { return dependence.source == dependence.sink; }
};

std::string values(const std::vector<std::string>& names, const std::vector<int64_t>& at) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < at.size(); ++i)
    parts.push_back((i < names.size() ? names[i] + "=" : "") + std::to_string(at[i]));
  return "(" + join(parts, ", ") + ")";
}

/// "S0 at (t=0, i=2)"; a statement outside all loops has no iteration.
std::string instance(const Story& s, StmtId statement, const std::vector<int64_t>& at) {
  const std::string& name = s.name(statement);
  return at.empty() ? name : name + " at " + values(s.scop[statement].text.iters, at);
}

std::string element(const Story& s) {
  std::vector<std::string> index;
  for (const int64_t i : s.illegal.element)
    index.push_back(i == poly::kAnyElement ? "?" : std::to_string(i));
  const std::string& name = s.scop.tensors[s.dependence.tensor].name;
  return index.empty() ? name : name + "[" + join(index, ", ") + "]";
}

/// Whether no element of the tensor is written twice, so that a read after a write reads that
/// value.
bool is_written_once(const Story& s) {
  return std::none_of(s.scop.dependences.begin(), s.scop.dependences.end(), [&](const auto& d) {
    return d.tensor == s.dependence.tensor && d.kind == DependenceKind::Output;
  });
}

std::string two_iterations(const Story& s) {
  const std::string first = instance(s, s.dependence.source, s.illegal.source);
  const std::string second = instance(s, s.dependence.sink, s.illegal.sink);
  if (std::ranges::count(s.illegal.element, poly::kAnyElement) != 0)
    return first + " and " + second + " may touch one element of " +
           s.scop.tensors[s.dependence.tensor].name +
           ": an index is read from data, and may be any.";
  if (s.dependence.is_reduction)
    return first + " updates " + element(s) + "; " + second + " updates it too.";
  switch (s.dependence.kind) {
  case DependenceKind::Flow:
    return first + " writes " + element(s) + "; " + second + " reads that " +
           (is_written_once(s) ? "value." : "element.");
  case DependenceKind::Anti:
    return first + " reads " + element(s) + "; " + second + " overwrites it.";
  case DependenceKind::Output:
    return first + " writes " + element(s) + "; " + second + " overwrites it.";
  }
  return "";
}

std::string runs_first(const Story& s) {
  if (s.dependence.is_reduction)
    return "As written, the first update runs first.";
  switch (s.dependence.kind) {
  case DependenceKind::Flow:
    return "As written, the write runs first.";
  case DependenceKind::Anti:
    return "As written, the read runs first.";
  case DependenceKind::Output:
    return "As written, the first write runs first.";
  }
  return "";
}

/// What goes wrong; `may`: it depends on which of the two happens to run first.
std::string consequence(const Story& s, bool may) {
  if (s.dependence.is_reduction)
    return may ? "one update may be lost" : "the result is rounded in another order";
  const std::string finds = may ? "may find" : "finds";
  switch (s.dependence.kind) {
  case DependenceKind::Flow:
    return "the read " + finds + " the old value";
  case DependenceKind::Anti:
    return "the read " + finds + " the new value";
  case DependenceKind::Output:
    return may ? "either value may stay" : "the wrong value stays";
  }
  return "";
}

/// When an instance runs under the new order; of a reversed loop the source's own values say more.
std::string time_of(const Story& s, StmtId statement, const std::vector<int64_t>& at) {
  const std::string when = std::holds_alternative<Reverse>(s.directive)
                               ? values(s.scop[statement].text.iters, at)
                               : moment(s.after, statement, s.illegal.params, at);
  if (s.is_one_statement())
    return when;
  return when == "()" ? s.name(statement) : s.name(statement) + " at " + when;
}

/// Why the order of the two is another one: "`i` leads".
std::string cause(const Story& s) {
  if (!s.illegal.parts_at_loop)
    return s.name(s.dependence.sink) + " comes before " + s.name(s.dependence.source);
  const std::string loop = "`" + s.after[s.illegal.loop].name + "`";
  if (std::holds_alternative<Reverse>(s.directive))
    return loop + " runs backwards";
  if (std::holds_alternative<Fuse>(s.directive))
    return "both run in one loop " + loop;
  return loop + " leads";
}

std::string order_story(const Story& s) {
  const std::string source = time_of(s, s.dependence.source, s.illegal.source);
  const std::string sink = time_of(s, s.dependence.sink, s.illegal.sink);
  std::string text = runs_first(s) + " After the " + noun_of(s.directive) + " ";
  if (!s.illegal.parts_at_loop && s.is_one_statement())
    return text + "both have the same place in the order, " + sink + ", and nothing says which " +
           "runs first.";
  return text + cause(s) + ", so " + sink + " runs before " + source + " and " +
         consequence(s, false) + ".";
}

std::string parallel_story(const Story& s) {
  const std::string source = time_of(s, s.dependence.source, s.illegal.source);
  const std::string sink = time_of(s, s.dependence.sink, s.illegal.sink);
  return runs_first(s) + " With `" + s.after[s.illegal.loop].name + "` in parallel " + source +
         " and " + sink + " run at the same time, so " + consequence(s, true) + ".";
}

std::string vector_story(const Story& s) {
  const std::string source = time_of(s, s.dependence.source, s.illegal.source);
  const std::string sink = time_of(s, s.dependence.sink, s.illegal.sink);
  const std::string width = std::to_string(s.after[s.illegal.loop].marks.vector_width);
  std::string text = runs_first(s) + " As vectors of " + width + " lanes " + source + " and " +
                     sink + " are lanes of one vector, ";
  if (!s.is_one_statement())
    return text + "and all lanes of " + s.name(s.dependence.sink) + " run before those of " +
           s.name(s.dependence.source) + ", so " + consequence(s, false) + ".";
  if (s.dependence.kind == DependenceKind::Output)
    return text + "and both store to one element.";
  return text + "and all lanes read before any lane writes, so " + consequence(s, false) + ".";
}

/// Sink minus source at the loop of that depth, in the source order.
std::string distance_at(const Story& s, size_t depth) {
  // Pairs of one dependence may lie in all directions; then the example's own distance is shown.
  const std::string& known = s.illegal.distance[depth];
  if (known != "*" && known.find("..") == std::string::npos)
    return known;
  const auto row = [&](StmtId statement, const std::vector<int64_t>& at) {
    return poly::value_at(s.scop.source_order.rows[statement.value][depth], s.illegal.params, at);
  };
  const int64_t distance =
      row(s.dependence.sink, s.illegal.sink) - row(s.dependence.source, s.illegal.source);
  return (distance > 0 ? "+" : "") + std::to_string(distance);
}

std::string dependence_line(const Story& s) {
  std::string text =
      "dependence: " + (s.dependence.is_reduction ? std::string("updates of one reduction")
                                                  : std::string(poly::name_of(s.dependence.kind)));
  const std::vector<std::string>& loops = s.scop[s.dependence.source].text.iters;
  std::vector<std::string> parts;
  for (size_t i = 0; i < s.illegal.distance.size() && i < loops.size(); ++i)
    parts.push_back(loops[i] + " " + distance_at(s, i));
  if (!parts.empty())
    text += ", distance (" + join(parts, ", ") + ")";
  if (s.illegal.condition.empty())
    return text;
  const std::string condition = "whenever " + s.illegal.condition;
  const bool is_long = display_width(text) + display_width(condition) > 90;
  return text + (is_long ? ",\n  " : ", ") + condition;
}

} // namespace

std::string moment(const Order& order, StmtId statement, const std::vector<int64_t>& params,
                   const std::vector<int64_t>& iters) {
  std::vector<std::string> names;
  std::vector<int64_t> at;
  const std::vector<poly::LoopId> path = poly::path_of(order, statement);
  for (size_t depth = 0; depth < path.size(); ++depth) {
    names.push_back(order[path[depth]].name);
    at.push_back(poly::value_at(order.rows[statement.value][depth], params, iters));
  }
  return values(names, at);
}

std::string wrapped(const std::string& text, size_t columns) {
  std::string lines, line;
  int open = 0;
  std::string word;
  const auto end_word = [&] {
    if (!line.empty() && display_width(line) + 1 + display_width(word) > columns) {
      lines += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    word.clear();
  };
  for (const char c : text) {
    open += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c == ' ' && open <= 0)
      end_word();
    else
      word += c;
  }
  end_word();
  return lines + line;
}

std::vector<std::string> narrate(const Directive& directive, const Refusal::Judged& judged,
                                 const Illegal& illegal) {
  const Story s{directive, judged.scop, judged.after, illegal,
                judged.scop.dependences[illegal.dependence]};
  const std::string change = illegal.broken == Broken::Order      ? order_story(s)
                             : illegal.broken == Broken::Parallel ? parallel_story(s)
                                                                  : vector_story(s);
  return {wrapped(two_iterations(s)) + "\n" + wrapped(change), dependence_line(s)};
}

} // namespace kawara::schedule
