#include "program/text/resolver.h"

#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kawara::program {

using ast::Kind;

namespace {

// Functions of C, NumPy and PyTorch, and what is written for them. `$1` is the first argument as
// it stands in the call, `$2` the second.
constexpr OtherWord kOthers[] = {{"fabs", "abs"},
                                 {"absolute", "abs"},
                                 {"fmax", "max"},
                                 {"fmin", "min"},
                                 {"maximum", "max"},
                                 {"minimum", "min"},
                                 {"amax", "max"},
                                 {"amin", "min"},
                                 {"expf", "exp"},
                                 {"sqrtf", "sqrt"},
                                 {"ln", "log"},
                                 {"rint", "round"},
                                 {"nearbyint", "round"},
                                 {"around", "round"},
                                 {"float", "f32"},
                                 {"float32", "f32"},
                                 {"float64", "f64"},
                                 {"float16", "f16"},
                                 {"double", "f64"},
                                 {"int", "i32"},
                                 {"int8", "i8"},
                                 {"int16", "i16"},
                                 {"int32", "i32"},
                                 {"int64", "i64"},
                                 {"long", "i64"},
                                 {"uint8", "u8"},
                                 {"uint16", "u16"},
                                 {"uint32", "u32"},
                                 {"uint64", "u64"},
                                 {"product", "prod"},
                                 {"power", "pow"},
                                 {"arctan2", "atan2"},
                                 {"clip", "clamp"},
                                 {"where", "$2 if $1 else $3"},
                                 {"log10", "log($1) / log(10)"},
                                 {"log1p", "log(1 + $1)"},
                                 {"expm1", "exp($1) - 1"},
                                 {"exp10", "pow(10, $1)"},
                                 {"square", "pow($1, 2)"},
                                 {"reciprocal", "1 / $1"},
                                 {"sign", "(1 if $1 > 0 else -1 if $1 < 0 else 0)"},
                                 {"isnan", "$1 != $1"},
                                 {"isinf", "abs($1) == inf"},
                                 {"isfinite", "abs($1) < inf"},
                                 {"softplus", "log(1 + exp($1))"},
                                 {"tan", "sin($1) / cos($1)"},
                                 {"atan", "atan2($1, 1)"},
                                 {"arctan", "atan2($1, 1)"},
                                 {"sinh", "(exp($1) - exp(-$1)) / 2"},
                                 {"cosh", "(exp($1) + exp(-$1)) / 2"},
                                 {"hypot", "sqrt(pow($1, 2) + pow($2, 2))"},
                                 {"erfc", "1 - erf($1)"},
                                 {"mod", "a % b"},
                                 {"any", "max(k, i32(x[k] > 0)) > 0"},
                                 {"all", "min(k, i32(x[k] > 0)) > 0"},
                                 {"mean", "sum(k, x[k]) / N"},
                                 {"average", "sum(k, x[k]) / N"},
                                 {"var", "sum(k, pow(x[k] - mean, 2)) / N"},
                                 {"std", "sqrt(sum(k, pow(x[k] - mean, 2)) / N)"},
                                 {"norm", "sqrt(sum(k, pow(x[k], 2)))"},
                                 {"dot", "sum(k, a[k] * b[k])"},
                                 {"matmul", "sum(k, A[i, k] * B[k, j])"}};

// Functions that are not here under any name: one that is spelled much like them does something
// else.
constexpr std::array<std::string_view, 14> kNone = {
    "asin",    "acos", "arcsin", "arccos", "asinh",  "acosh", "atanh",
    "arctanh", "cot",  "sec",    "erfinv", "lgamma", "sinc",  "trunc"};

/// In a word of three letters only their order is guessed: `mxa` is `max`, `fin` is nothing.
std::optional<std::string> function_near(std::string_view name,
                                         const std::vector<std::string>& all) {
  const auto meant = closest(name, all);
  if (!meant || name.size() > 3 ||
      std::is_permutation(name.begin(), name.end(), meant->begin(), meant->end()))
    return meant;
  return std::nullopt;
}

/// The word that stands for `name`, with `$1` for its arguments.
std::optional<std::string> function_meant(std::string_view name) {
  if (const auto ours = word_for(name, kOthers))
    return ours;
  const std::vector<std::string> all = all_functions();
  if (name.size() > 2 && name.ends_with('f')) { // C's functions of floats: fmaxf, sinf
    const std::string_view stem = name.substr(0, name.size() - 1);
    if (const auto ours = word_for(stem, kOthers))
      return ours;
    if (std::find(all.begin(), all.end(), stem) != all.end())
      return std::string(stem);
  }
  if (std::find(kNone.begin(), kNone.end(), name) != kNone.end())
    return std::nullopt;
  return function_near(name, all);
}

/// Does it need brackets beside an operator?
bool is_compound(const ast::Expr& e) {
  return e.kind == Kind::Binary || e.kind == Kind::Compare || e.kind == Kind::Choice ||
         e.kind == Kind::Not || e.kind == Kind::Negate;
}

} // namespace

/// `pattern` with the call's arguments in it; `x`, `y`, `z` stand for those that are missing.
std::string Resolver::with_arguments(const std::string& pattern, const ast::Expr& call) const {
  std::string out;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '$') {
      out += pattern[at];
      continue;
    }
    const auto k = static_cast<size_t>(pattern[++at] - '1');
    if (k >= call.args.size()) {
      out += "xyz"[k];
      continue;
    }
    const ast::Expr& arg = call.args[k];
    const std::string text = text_of(arg.where);
    const bool is_alone = (out.ends_with('(') || out.ends_with(", ")) &&
                          (pattern.substr(at + 1, 1) == ")" || pattern.substr(at + 1, 1) == ",");
    const bool is_whole_word = call.name == "where";
    out += is_compound(arg) && !is_alone && !is_whole_word && !text.starts_with('(')
               ? "(" + text + ")"
               : text;
  }
  return out;
}

void Resolver::unknown_function(const ast::Expr& e) {
  std::vector<Help> help;
  if (is_bound(e.name))
    help.push_back({"elements of a tensor are written", fmt::format("{}[i]", e.name)});
  else if (const auto meant = report_.is_full() ? std::nullopt : function_meant(e.name))
    help.push_back({"did you mean", with_arguments(*meant, e)});
  std::vector<std::string> body;
  if (help.empty())
    body.push_back("Functions are " + join(all_functions(), ", ") +
                   ", and those that `def` makes.");
  report_.error(code::kUnknownFunction, e.name_where, fmt::format("unknown function `{}`", e.name),
                "", help, body);
}

} // namespace kawara::program
