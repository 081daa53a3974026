#pragma once

#include "support/diagnostic.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kawara::estimate {

/// A value of a JSON text, and where it stands there, so that a wrong one can be shown.
struct LocatedJson {
  enum class Kind : uint8_t { Null, Bool, Number, Text, List, Object };
  struct Member;

  Kind kind = Kind::Null;
  Span where;
  double number = 0;
  bool is_whole = false; ///< of a number: an integer that fits into 64 bits
  int64_t whole = 0;     ///< that integer
  std::string text;      ///< of a Text; of a Bool "true" or "false"
  std::vector<LocatedJson> items;
  std::vector<Member> members; ///< in the order of the text
};
struct LocatedJson::Member {
  std::string name;
  Span where;
  LocatedJson value;
};

/// "a number", "a list": for messages.
std::string_view name_of(LocatedJson::Kind);

/// The value that a JSON text holds; `//` and `/* */` begin comments. Refuses what is no JSON, a
/// name that stands twice in an object, and more than 32 lists and objects inside each other
/// (K0470).
Result<LocatedJson, Diagnostic> located_json(const SourcePtr&);

} // namespace kawara::estimate
