#pragma once

#include "estimate/machines/located_json.h"
#include "support/text.h"

#include <functional>
#include <set>
#include <span>
#include <string>

namespace kawara::estimate {

/// The members of an object, each asked for by name; whatever is missing or wrong becomes an error
/// at its place (K0471), and a harmless value is given back.
class Fields {
public:
  /// `what` names the object in messages: "the machine", "`levels`, number 2".
  Fields(const LocatedJson&, std::string what, const SourcePtr&, Diagnostics& errors);

  bool has(const std::string& name) { return find(name) != nullptr; }
  std::string text(const std::string& name); ///< not empty
  double positive(const std::string& name);  ///< a number above 0
  int64_t count(const std::string& name);    ///< a whole number above 0
  /// The number of the choice that is named.
  size_t one_of(const std::string& name, std::span<const std::string_view> choices);
  Fields object(const std::string& name);
  /// Each object of a list; finishes it.
  void each(const std::string& name, const std::function<void(Fields&)>&);

  /// An error at the member, or at the object where it has none of that name.
  void refuse(const std::string& name, std::string headline, std::string why);
  /// Refuses members that nobody asked for.
  void finish();
  bool is_sound() const { return errors_->size() == before_; }

private:
  const LocatedJson* find(const std::string& name);
  const LocatedJson* get(const std::string& name, LocatedJson::Kind);
  void refuse_at(Span, std::string headline, std::string why);

  const LocatedJson* from_;
  std::string what_;
  SourcePtr source_;
  Diagnostics* errors_;
  size_t before_;
  std::set<std::string> asked_;
};

} // namespace kawara::estimate
