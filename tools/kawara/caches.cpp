#include "kawara/caches.h"

#include "kawara/machines.h"

#include <fmt/format.h>

namespace kawara::tools {
namespace {

Parsed<std::vector<cache::Description>> caches_of(const std::vector<std::string>& texts,
                                                  cache::Policy policy) {
  std::vector<cache::Description> made;
  for (const std::string& text : texts) {
    auto each = cache::description_from_text(text, made.size() + 1, policy);
    if (!each)
      return fail(Diagnostics{std::move(each).error()});
    made.push_back(*std::move(each));
  }
  if (auto fits = cache::check(made); !fits)
    return fail(Diagnostics{std::move(fits).error()});
  return made;
}

} // namespace

Parsed<std::vector<cache::Description>> caches_of_file(const estimate::MachineFile& machine,
                                                       const std::string& name) {
  std::vector<std::string> texts;
  for (const estimate::MachineFile::Level& level : machine.levels) {
    if (level.ways == 0)
      return fail(Diagnostics{unfit_machine(
          name, fmt::format("Nothing is known of the ways of {} of {}.", level.name, machine.name),
          "describe caches by `kawara cache --level`, or give `ways` and `policy` in a copy of the "
          "file")});
    texts.push_back(
        fmt::format("{},{},{},{}", level.bytes, level.line_bytes, level.ways, level.policy));
  }
  if (texts.empty())
    return fail(Diagnostics{unfit_machine(name, "Its file names no caches.",
                                          "describe caches by `kawara cache --level`")});
  auto made = caches_of(texts, cache::Policy::Lru);
  for (size_t k = 0; made && k < made->size(); ++k)
    (*made)[k].name = machine.levels[k].name;
  return made;
}

} // namespace kawara::tools
