#include "validate/example.h"

#include "poly/isl/dimensions.h"

namespace kawara::validate {

isl::set points_at_some_sizes(const isl::set& set, const std::vector<program::Param>& params) {
  if (params.empty())
    return set;
  // One tile and a bit of most tiles, and one of the largest.
  for (const int64_t size : {3, 41, 5003}) {
    isl::set fixed = set;
    for (const program::Param& param : params)
      fixed = poly::fix_parameter(fixed, param.name, size);
    if (!fixed.is_empty())
      return fixed;
  }
  return set;
}

} // namespace kawara::validate
