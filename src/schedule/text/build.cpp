#include "schedule/text/build.h"

#include "schedule/text/build_arrange.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

namespace kawara::schedule {
namespace {

enum class Kind : uint8_t { Loop, Statement, Tensor, Dimension, Axis, Number, Type, Instruction };

struct Parameter {
  std::string_view keyword;
  Kind kind;
  bool is_optional = false;
};

/// Arguments in the order of the parameters; null where an optional one was left out.
using Bound = std::vector<const Argument*>;

struct Signature {
  std::string_view name;
  std::vector<Parameter> parameters;
  std::function<Directive(const Bound&)> make;
};

const std::string& text(const Argument* a) { return std::get<std::string>(a->value); }
LoopName loop(const Argument* a) { return loop_name_from_text(text(a)); }
int64_t number(const Argument* a) { return std::get<int64_t>(a->value); }
std::optional<int64_t> number_if(const Argument* a) {
  return a ? std::optional(number(a)) : std::nullopt;
}

std::optional<scalar::Elem> type_if(const Argument* a) {
  return a ? scalar::elem_from_name(text(a)) : std::nullopt;
}

std::optional<int64_t> number_from(std::string_view digits) {
  int64_t value = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_whole = error == std::errc() && rest == digits.data() + digits.size();
  return is_whole && value >= 0 && value <= (int64_t{1} << 40) ? std::optional(value)
                                                               : std::nullopt;
}

/// `d1`, `d1/16` or `d1%16`.
std::optional<LayoutPart> layout_part(std::string_view text) {
  if (text.empty() || text[0] != 'd')
    return std::nullopt;
  const size_t mark = text.find_first_of("/%");
  const auto dim = number_from(text.substr(1, mark == std::string_view::npos ? mark : mark - 1));
  if (!dim)
    return std::nullopt;
  if (mark == std::string_view::npos)
    return LayoutPart{*dim, LayoutPart::Kind::Whole, 1};
  const auto block = number_from(text.substr(mark + 1));
  if (!block || *block < 1)
    return std::nullopt;
  return LayoutPart{*dim, text[mark] == '/' ? LayoutPart::Kind::Blocks : LayoutPart::Kind::Inside,
                    *block};
}

std::vector<Signature> signatures() {
  const Parameter on{"loop", Kind::Loop}, type{"type", Kind::Type, true};
  const auto amount = [](std::string_view keyword, bool is_optional = false) {
    return Parameter{keyword, Kind::Number, is_optional};
  };
  return {
      {"split",
       {on, amount("size")},
       [](const Bound& b) {
         return Split{loop(b[0]), number(b[1])};
       }},
      {"interchange",
       {{"a", Kind::Loop}, {"b", Kind::Loop}},
       [](const Bound& b) {
         return Interchange{loop(b[0]), loop(b[1])};
       }},
      {"skew",
       {on, {"by", Kind::Loop}, amount("factor", true)},
       [](const Bound& b) {
         return Skew{loop(b[0]), loop(b[1]), number_if(b[2]).value_or(1)};
       }},
      {"shift",
       {on, amount("amount")},
       [](const Bound& b) {
         return Shift{loop(b[0]), number(b[1])};
       }},
      {"reverse", {on}, [](const Bound& b) { return Reverse{loop(b[0])}; }},
      {"coalesce",
       {{"outer", Kind::Loop}, {"inner", Kind::Loop}},
       [](const Bound& b) {
         return Coalesce{loop(b[0]), loop(b[1])};
       }},
      {"fuse",
       {{"a", Kind::Loop}, {"b", Kind::Loop}},
       [](const Bound& b) {
         return Fuse{loop(b[0]), loop(b[1])};
       }},
      {"distribute", {on}, [](const Bound& b) { return Distribute{loop(b[0])}; }},
      {"cut",
       {on, amount("at")},
       [](const Bound& b) {
         return Cut{loop(b[0]), number(b[1])};
       }},
      {"isolate", {on}, [](const Bound& b) { return Isolate{loop(b[0])}; }},
      {"compute_at",
       {{"statement", Kind::Statement}, on},
       [](const Bound& b) {
         return ComputeAt{text(b[0]), loop(b[1])};
       }},
      {"stage",
       {{"tensor", Kind::Tensor}, on, amount("panel", true), amount("width", true)},
       [](const Bound& b) {
         return Stage{text(b[0]), loop(b[1]), number_if(b[2]), number_if(b[3])};
       }},
      {"extend",
       {on, amount("to")},
       [](const Bound& b) {
         return Extend{loop(b[0]), number(b[1])};
       }},
      {"pack",
       {{"tensor", Kind::Tensor},
        {"loop", Kind::Loop, true},
        type,
        {"reader", Kind::Statement, true}},
       [](const Bound& b) {
         return Pack{text(b[0]), b[1] ? std::optional(loop(b[1])) : std::nullopt, type_if(b[2]),
                     b[3] ? std::optional(text(b[3])) : std::nullopt};
       }},
      {"store_at",
       {{"tensor", Kind::Tensor}, on},
       [](const Bound& b) {
         return StoreAt{text(b[0]), loop(b[1])};
       }},
      {"store_in",
       {{"tensor", Kind::Tensor}, {"other", Kind::Tensor}},
       [](const Bound& b) {
         return StoreIn{text(b[0]), text(b[1])};
       }},
      {"pad",
       {{"tensor", Kind::Tensor},
        {"dimension", Kind::Dimension},
        amount("by", true),
        amount("to", true)},
       [](const Bound& b) {
         return Pad{text(b[0]), layout_part(text(b[1]))->dim, number_if(b[2]).value_or(0),
                    number_if(b[3])};
       }},
      {"fold",
       {{"tensor", Kind::Tensor}, on, amount("size", true)},
       [](const Bound& b) {
         return Fold{text(b[0]), loop(b[1]), number_if(b[2])};
       }},
      {"promote",
       {{"tensor", Kind::Tensor}, on},
       [](const Bound& b) {
         return Promote{text(b[0]), loop(b[1])};
       }},
      {"prefetch",
       {{"tensor", Kind::Tensor}, on, amount("ahead", true)},
       [](const Bound& b) {
         return Prefetch{text(b[0]), loop(b[1]), number_if(b[2]).value_or(1)};
       }},
      {"inline",
       {{"statement", Kind::Statement}},
       [](const Bound& b) { return Inline{text(b[0])}; }},
      {"unroll",
       {on, amount("factor", true)},
       [](const Bound& b) {
         return Unroll{loop(b[0]), number_if(b[1])};
       }},
      {"unroll_and_jam",
       {on, amount("factor")},
       [](const Bound& b) {
         return UnrollAndJam{loop(b[0]), number(b[1])};
       }},
      {"vectorize",
       {on, amount("width", true)},
       [](const Bound& b) {
         return Vectorize{loop(b[0]), number_if(b[1])};
       }},
      {"parallel", {on}, [](const Bound& b) { return Parallel{loop(b[0])}; }},
      {"tensorize",
       {on, {"instruction", Kind::Instruction}},
       [](const Bound& b) {
         return Tensorize{loop(b[0]), text(b[1])};
       }},
      {"rfactor",
       {on, type},
       [](const Bound& b) {
         return Rfactor{loop(b[0]), type_if(b[1])};
       }},
      {"bind",
       {on, {"axis", Kind::Axis}},
       [](const Bound& b) {
         return Bind{loop(b[0]), *poly::axis_from_name(text(b[1]))};
       }},
      {"pipeline",
       {on, amount("stages")},
       [](const Bound& b) {
         return Pipeline{loop(b[0]), number(b[1])};
       }},
      {"auto", {}, [](const Bound&) { return Auto{}; }},
  };
}

bool fits(const Argument& argument, Kind kind) {
  if (kind == Kind::Type)
    return std::holds_alternative<std::string>(argument.value) &&
           scalar::elem_from_name(text(&argument)) && text(&argument) != "bool";
  if (kind == Kind::Dimension) {
    const auto part = std::holds_alternative<std::string>(argument.value)
                          ? layout_part(text(&argument))
                          : std::nullopt;
    return part && part->kind == LayoutPart::Kind::Whole;
  }
  return (kind == Kind::Number) == std::holds_alternative<int64_t>(argument.value);
}

std::string_view said(Kind kind) {
  switch (kind) {
  case Kind::Loop:
    return "a loop";
  case Kind::Statement:
    return "a statement";
  case Kind::Tensor:
    return "a tensor";
  case Kind::Dimension:
    return "a dimension such as d0";
  case Kind::Type:
    return "an element type";
  case Kind::Instruction:
    return "an instruction";
  case Kind::Axis:
    return "an axis";
  default:
    return "a number";
  }
}

Result<Directive, WrongArguments> build_fixed(const Signature& signature,
                                              const std::vector<Argument>& arguments) {
  const std::vector<Parameter>& parameters = signature.parameters;
  Bound bound(parameters.size(), nullptr);
  size_t next = 0;
  for (const Argument& argument : arguments) {
    size_t at = next;
    if (!argument.keyword.empty()) {
      for (at = 0; at < parameters.size() && parameters[at].keyword != argument.keyword;)
        ++at;
      if (at == parameters.size())
        return fail(
            WrongArguments{"it has no argument `" + argument.keyword + "`", argument.where});
    } else {
      ++next;
    }
    if (at >= parameters.size())
      return fail(WrongArguments{"one argument too many", argument.where});
    if (bound[at])
      return fail(WrongArguments{"`" + std::string(parameters[at].keyword) + "` is given twice",
                                 argument.where});
    if (!fits(argument, parameters[at].kind))
      return fail(WrongArguments{"expected " + std::string(said(parameters[at].kind)) + ", the `" +
                                     std::string(parameters[at].keyword) + "`",
                                 argument.where});
    if (parameters[at].kind == Kind::Axis && !poly::axis_from_name(text(&argument)))
      return fail(WrongArguments{"`" + text(&argument) +
                                     "` is no axis; block.x, block.y, block.z, " +
                                     "thread.x, thread.y and thread.z are",
                                 argument.where});
    bound[at] = &argument;
  }
  for (size_t p = 0; p < parameters.size(); ++p)
    if (!bound[p] && !parameters[p].is_optional)
      return fail(
          WrongArguments{"the `" + std::string(parameters[p].keyword) + "` is missing", Span{}});
  return signature.make(bound);
}

/// `tile(i=64, j=64)`, or loops and sizes in turn: `tile(i, 64)`.
Result<Directive, WrongArguments> build_tile(const std::vector<Argument>& arguments) {
  Tile tile;
  for (size_t a = 0; a < arguments.size(); ++a) {
    const Argument& argument = arguments[a];
    const Argument* size = &argument;
    std::string name = argument.keyword;
    if (name.empty()) {
      if (!fits(argument, Kind::Loop))
        return fail(WrongArguments{"a loop comes before its size", argument.where});
      name = text(&argument);
      if (a + 1 == arguments.size())
        return fail(WrongArguments{"the size of `" + name + "` is missing", argument.where});
      size = &arguments[++a];
    }
    if (!fits(*size, Kind::Number) || (size != &argument && !size->keyword.empty()))
      return fail(WrongArguments{"expected a number, the size of `" + name + "`", size->where});
    tile.loops.emplace_back(loop_name_from_text(name), number(size));
  }
  if (tile.loops.empty())
    return fail(WrongArguments{"a loop and its size are missing", Span{}});
  return Directive(std::move(tile));
}

Result<std::vector<LoopName>, WrongArguments> loops_of(const std::vector<Argument>& arguments) {
  std::vector<LoopName> loops;
  for (const Argument& argument : arguments) {
    if (!argument.keyword.empty() || !fits(argument, Kind::Loop))
      return fail(WrongArguments{"expected a loop", argument.where});
    loops.push_back(loop(&argument));
  }
  if (loops.empty())
    return fail(WrongArguments{"the loops are missing", Span{}});
  return loops;
}

Result<Directive, WrongArguments> build_reorder(const std::vector<Argument>& arguments) {
  KAWARA_TRY(std::vector<LoopName> loops, loops_of(arguments));
  return Directive(Reorder{std::move(loops)});
}

Result<Directive, WrongArguments> build_online(const std::vector<Argument>& arguments) {
  KAWARA_TRY(std::vector<LoopName> loops, loops_of(arguments));
  if (loops.size() < 2)
    return fail(WrongArguments{"a second loop is missing", Span{}});
  return Directive(Online{std::move(loops)});
}

/// `stage(B, k.0, panel=1, width=12, d0=4, d1=12)`: what `signature` has, and dimensions with what
/// they are rounded to.
Result<Directive, WrongArguments> build_stage(const Signature& signature,
                                              const std::vector<Argument>& arguments) {
  std::vector<Argument> fixed;
  std::map<int64_t, int64_t> rounded;
  for (const Argument& argument : arguments) {
    const auto part = layout_part(argument.keyword);
    if (!part || part->kind != LayoutPart::Kind::Whole) {
      fixed.push_back(argument);
      continue;
    }
    if (!fits(argument, Kind::Number))
      return fail(
          WrongArguments{"expected a number that `" + argument.keyword + "` shall be a multiple of",
                         argument.where});
    if (!rounded.emplace(part->dim, number(&argument)).second)
      return fail(WrongArguments{"`" + argument.keyword + "` is given twice", argument.where});
  }
  KAWARA_TRY(Directive directive, build_fixed(signature, fixed));
  for (const auto& [dim, to] : rounded)
    std::get<Stage>(directive).rounded.push_back({dim, to});
  return directive;
}

/// `pad(T, d1, 16)` or `pad(T, d1, to=16)`
Result<Directive, WrongArguments> build_pad(const Signature& signature,
                                            const std::vector<Argument>& arguments) {
  KAWARA_TRY(Directive directive, build_fixed(signature, arguments));
  if (arguments.size() == 3)
    return directive;
  return fail(WrongArguments{arguments.size() > 3 ? "`by` and `to` exclude each other"
                                                  : "the `by` or the `to` is missing",
                             Span{}});
}

/// `layout(T, d1/16, d0, d1%16)`, `layout(T, d1, d0, type=f32)`
Result<Directive, WrongArguments> build_layout(const std::vector<Argument>& arguments) {
  Layout layout;
  for (const Argument& argument : arguments) {
    const bool is_word =
        argument.keyword.empty() && std::holds_alternative<std::string>(argument.value);
    if (layout.tensor.empty()) {
      if (!is_word)
        return fail(WrongArguments{"expected a tensor", argument.where});
      layout.tensor = text(&argument);
      continue;
    }
    if (argument.keyword == "type") {
      if (layout.type)
        return fail(WrongArguments{"`type` is given twice", argument.where});
      if (!fits(argument, Kind::Type))
        return fail(WrongArguments{"expected " + std::string(said(Kind::Type)) + ", the `type`",
                                   argument.where});
      layout.type = scalar::elem_from_name(text(&argument));
      continue;
    }
    const auto part = is_word ? layout_part(text(&argument)) : std::nullopt;
    if (!part)
      return fail(WrongArguments{"expected a dimension, its blocks or the place in a block: "
                                 "d0, d0/16, d0%16",
                                 argument.where});
    layout.parts.push_back(*part);
  }
  if (layout.parts.empty())
    return fail(WrongArguments{"the dimensions are missing", Span{}});
  return Directive(std::move(layout));
}

/// Only statements of `arrange` have brackets.
const Argument* bracketed(const std::vector<Argument>& arguments) {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [](const Argument& a) { return a.has_inside; });
  return found == arguments.end() ? nullptr : &*found;
}

} // namespace

std::vector<std::string> directive_names() {
  std::vector<std::string> names{"arrange", "tile", "reorder", "online", "layout"};
  for (const Signature& signature : signatures())
    names.emplace_back(signature.name);
  return names;
}

std::string form_of(std::string_view directive) {
  if (directive == "arrange")
    return "arrange(S0[0, loop, 0, loop, 0], S1[...], ...)";
  if (directive == "tile")
    return "tile(loop=size, ...)";
  if (directive == "reorder")
    return "reorder(loop, loop, ...)";
  if (directive == "online")
    return "online(loop, loop, ...)";
  if (directive == "layout")
    return "layout(tensor, d1/16, d0, d1%16, ...[, type=f32])";
  if (directive == "stage")
    return "stage(tensor, loop[, panel, width][, d0=number, ...])";
  if (directive == "pad")
    return "pad(tensor, dimension, by) or pad(tensor, dimension, to=number)";
  for (const Signature& signature : signatures()) {
    if (signature.name != directive)
      continue;
    if (signature.parameters.empty())
      return std::string(directive);
    std::string form = std::string(directive) + "(";
    for (size_t p = 0; p < signature.parameters.size(); ++p) {
      const Parameter& parameter = signature.parameters[p];
      const std::string comma = p == 0 ? "" : ", ";
      const std::string keyword(parameter.keyword);
      const std::string shown = directive == "skew" && p > 0
                                    ? keyword + (p == 1 ? "=loop" : "=number")
                                : parameter.kind == Kind::Type ? "type=f32"
                                                               : keyword;
      form += parameter.is_optional ? "[" + comma + shown + "]" : comma + shown;
    }
    return form + ")";
  }
  return "";
}

Result<Directive, WrongArguments> build_directive(std::string_view name,
                                                  const std::vector<Argument>& arguments) {
  if (name == "arrange")
    return build_arrange(arguments);
  if (const Argument* wrong = bracketed(arguments))
    return fail(WrongArguments{"brackets are for statements of `arrange`", wrong->where});
  if (name == "tile")
    return build_tile(arguments);
  if (name == "reorder")
    return build_reorder(arguments);
  if (name == "online")
    return build_online(arguments);
  if (name == "layout")
    return build_layout(arguments);
  for (const Signature& signature : signatures())
    if (signature.name == name)
      return name == "stage" ? build_stage(signature, arguments)
             : name == "pad" ? build_pad(signature, arguments)
                             : build_fixed(signature, arguments);
  return fail(WrongArguments{"there is no such directive", Span{}});
}

LoopName loop_name_from_text(std::string_view name) {
  const size_t dot = name.find('.');
  const bool has_statement =
      dot != std::string_view::npos && dot > 1 && name[0] == 'S' && dot + 1 < name.size() &&
      std::all_of(name.begin() + 1, name.begin() + static_cast<std::ptrdiff_t>(dot),
                  [](char c) { return c >= '0' && c <= '9'; }) &&
      !(name[dot + 1] >= '0' && name[dot + 1] <= '9');
  if (!has_statement)
    return {std::nullopt, std::string(name)};
  return {std::string(name.substr(0, dot)), std::string(name.substr(dot + 1))};
}

} // namespace kawara::schedule
