#include "poly/isl/text.h"

#include <isl/map.h>
#include <isl/set.h>

#include <cstdlib>

namespace kawara::poly {
namespace {

std::string thread_private(char* text) {
  const std::string out = text ? text : "";
  std::free(text);
  return out;
}

} // namespace

std::string text_of(const isl::set& set) { return thread_private(isl_set_to_str(set.get())); }

std::string text_of(const isl::map& map) { return thread_private(isl_map_to_str(map.get())); }

} // namespace kawara::poly
