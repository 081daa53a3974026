#include "estimate/machines/fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::estimate {
namespace {

const LocatedJson kNothing; ///< stands for an object that is missing

} // namespace

Fields::Fields(const LocatedJson& from, std::string what, const SourcePtr& source,
               Diagnostics& errors)
    : from_(&from), what_(std::move(what)), source_(source), errors_(&errors),
      before_(errors.size()) {
  if (from.kind != LocatedJson::Kind::Object && &from != &kNothing) {
    refuse_at(from.where, fmt::format("{} is {}, not an object", what_, name_of(from.kind)),
              "An object has braces: { \"name\": ... }.");
    from_ = &kNothing;
  }
}

const LocatedJson* Fields::find(const std::string& name) {
  asked_.insert(name);
  for (const LocatedJson::Member& member : from_->members)
    if (member.name == name)
      return &member.value;
  return nullptr;
}

const LocatedJson* Fields::get(const std::string& name, LocatedJson::Kind kind) {
  const LocatedJson* found = find(name);
  if (from_ == &kNothing)
    return nullptr;
  if (found == nullptr) {
    refuse_at(from_->where, fmt::format("{} has no `{}`", what_, name),
              fmt::format("It is {}.", name_of(kind)));
    return nullptr;
  }
  if (found->kind != kind) {
    refuse_at(found->where, fmt::format("`{}` of {} is {}", name, what_, name_of(found->kind)),
              fmt::format("It has to be {}.", name_of(kind)));
    return nullptr;
  }
  return found;
}

std::string Fields::text(const std::string& name) {
  const LocatedJson* found = get(name, LocatedJson::Kind::Text);
  if (found != nullptr && found->text.empty())
    refuse_at(found->where, fmt::format("`{}` of {} is empty", name, what_), "It needs a word.");
  return found == nullptr ? "" : found->text;
}

double Fields::positive(const std::string& name) {
  const LocatedJson* found = get(name, LocatedJson::Kind::Number);
  if (found != nullptr && found->number <= 0)
    refuse_at(found->where, fmt::format("`{}` of {} is not above 0", name, what_),
              fmt::format("It is {:g}.", found->number));
  return found == nullptr || found->number <= 0 ? 1 : found->number;
}

int64_t Fields::count(const std::string& name) {
  const LocatedJson* found = get(name, LocatedJson::Kind::Number);
  if (found == nullptr)
    return 1;
  if (!found->is_whole || found->whole <= 0) {
    refuse_at(found->where, fmt::format("`{}` of {} is no whole number above 0", name, what_),
              fmt::format("It is {:g}.", found->number));
    return 1;
  }
  return found->whole;
}

size_t Fields::one_of(const std::string& name, std::span<const std::string_view> choices) {
  const std::string found = text(name);
  const auto at = std::find(choices.begin(), choices.end(), found);
  if (at != choices.end())
    return static_cast<size_t>(at - choices.begin());
  std::string all;
  for (const std::string_view choice : choices)
    all += fmt::format("{}{}", all.empty() ? "" : ", ", choice);
  if (!found.empty())
    refuse(name, fmt::format("`{}` of {} is `{}`", name, what_, printable(found)),
           fmt::format("It is one of {}.", all));
  return 0;
}

Fields Fields::object(const std::string& name) {
  const LocatedJson* found = get(name, LocatedJson::Kind::Object);
  return {found == nullptr ? kNothing : *found, fmt::format("`{}` of {}", name, what_), source_,
          *errors_};
}

void Fields::each(const std::string& name, const std::function<void(Fields&)>& f) {
  const LocatedJson* found = get(name, LocatedJson::Kind::List);
  for (size_t k = 0; found != nullptr && k < found->items.size(); ++k) {
    Fields inner(found->items[k], fmt::format("`{}`, number {},", name, k + 1), source_, *errors_);
    if (!inner.is_sound())
      continue;
    f(inner);
    inner.finish();
  }
}

void Fields::refuse(const std::string& name, std::string headline, std::string why) {
  const LocatedJson* at = find(name);
  refuse_at(at == nullptr ? from_->where : at->where, std::move(headline), std::move(why));
}

void Fields::refuse_at(Span where, std::string headline, std::string why) {
  Diagnostic d;
  d.code = "K0471";
  d.headline = std::move(headline);
  d.source = source_;
  d.where = where;
  d.body.push_back(std::move(why));
  errors_->push_back(std::move(d));
}

void Fields::finish() {
  for (const LocatedJson::Member& member : from_->members) {
    if (asked_.contains(member.name))
      continue;
    refuse_at(member.where, fmt::format("{} has no field `{}`", what_, printable(member.name)),
              "A figure that nothing reads would be taken for one that counts.");
    const std::vector<std::string> known(asked_.begin(), asked_.end());
    if (const auto meant = closest(member.name, known))
      errors_->back().help.push_back({"did you mean", *meant, false});
  }
}

} // namespace kawara::estimate
