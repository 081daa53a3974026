#pragma once

#include "schedule/directive.h"
#include "support/diagnostic.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kawara::schedule {

/// One argument of a directive's text: `i`, `32`, `factor=1` or `S0[0, i, 0, j+1]`.
struct Argument {
  std::string keyword; ///< empty: given by position
  std::variant<std::string, int64_t> value;
  Span where;
  int64_t added = 0;                 ///< `j+1`: what stands behind the name
  bool has_inside = false;           ///< `S0[...]`
  std::vector<Argument> inside = {}; ///< between the brackets
};

/// Names of all directives, for "did you mean".
std::vector<std::string> directive_names();
/// "split(loop, size)": how a directive is written; empty for a name that is none.
std::string form_of(std::string_view directive);

/// The directive `name` with these arguments, or what is wrong with them and where (nowhere: as a
/// whole).
struct WrongArguments {
  std::string why;
  Span where;
};
Result<Directive, WrongArguments> build_directive(std::string_view name,
                                                  const std::vector<Argument>& arguments);

/// `S1.i.0` as statement S1 and loop i.0; a name that does not begin with S and digits is all loop.
LoopName loop_name_from_text(std::string_view);

} // namespace kawara::schedule
