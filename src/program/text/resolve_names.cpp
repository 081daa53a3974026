#include "program/text/resolver.h"

#include "program/text/token.h"
#include "support/text.h"

#include <fmt/format.h>

namespace kawara::program {

const Resolver::Symbol* Resolver::find(std::string_view name) const {
  const auto it = symbols_.find(std::string(name));
  return it == symbols_.end() ? nullptr : &it->second;
}

std::optional<uint32_t> Resolver::find_loop(std::string_view name) const {
  for (size_t i = scope_.size(); i-- > frame_.first_loop;)
    if (scope_[i].name == name)
      return uint32_t(i);
  return std::nullopt;
}

bool Resolver::is_unbound_name(const ast::Expr& e) const {
  return e.kind == ast::Kind::Name && !is_reserved(e.name) && !is_bound(e.name) &&
         !reported_.count(std::string(e.name));
}

// Single letters are near to every other letter: only their case is guessed.
std::optional<std::string> Resolver::name_meant(std::string_view name) const {
  if (report_.is_full())
    return std::nullopt;
  std::vector<std::string> known;
  for (const ScopeLoop& loop : scope_)
    known.push_back(loop.name);
  for (const Local& local : locals_)
    known.push_back(local.name);
  for (const Local& constant : constants_)
    known.push_back(constant.name);
  for (const Param& p : program_.params)
    known.push_back(p.name);
  for (const Tensor& t : program_.tensors)
    if (!t.is_hidden)
      known.push_back(t.name);
  if (name.size() > 1)
    return closest(name, known);
  for (const std::string& k : known)
    if (k.size() == 1 && (k[0] ^ name[0]) == 0x20)
      return k;
  return std::nullopt;
}

namespace {

/// `[N, M]`; nothing for a scalar.
std::string sizes_for(size_t rank) {
  constexpr std::string_view kNames = "NMKL";
  std::string sizes;
  for (size_t k = 0; k < rank; ++k)
    sizes += (k == 0 ? "[" : ", ") +
             (k < kNames.size() ? std::string(1, kNames[k]) : "N" + std::to_string(k));
  return rank == 0 ? "" : sizes + "]";
}

} // namespace

void Resolver::unknown_name(std::string_view name, Span where, std::optional<size_t> rank) {
  if (report_.is_muted() || !reported_.insert(std::string(name)).second)
    return;
  if (report_.is_full())
    return report_.error(code::kUnknownName, where, "unknown name");
  std::vector<Help> help;
  if (const auto meant = name_meant(name))
    help.push_back({"did you mean", *meant});
  else if (rank)
    help.push_back(
        {"declare it, for example",
         fmt::format("temp {}: {}{}", name, scalar::name_of(elem_for(name)), sizes_for(*rank))});
  else
    help.push_back({"declare it, for example", fmt::format("param {}", name)});
  if (assignment_ && !rank && name.size() <= 2)
    help.push_back({"or reduce over it", fmt::format("sum({}, ...)", name)});
  report_.error(code::kUnknownName, where, fmt::format("unknown name `{}`", name), "", help);
}

std::string Resolver::text_of(Span span) const {
  const std::string& text = report_.source()->text;
  std::string part = text.substr(span.begin, span.end - span.begin);
  return part.size() <= 60 ? part : part.substr(0, 57) + "...";
}

std::string Resolver::to_text(const Expr& e) const {
  if (report_.is_full())
    return {};
  scalar::Names names = names_of(program_);
  for (const ScopeLoop& loop : scope_)
    names.iters.push_back(shown_name(loop));
  return scalar::to_string(e, names);
}

std::string Resolver::shown_name(const ScopeLoop& loop) const {
  return loop.shown.empty() ? loop.name : loop.shown;
}

} // namespace kawara::program
