#include "schedule/legality/instance_text.h"

#include "poly/isl/dimensions.h"
#include "support/text.h"

namespace kawara::schedule {

std::string instance_text(const poly::Scop& scop, poly::StmtId id,
                          const std::vector<int64_t>& iters) {
  std::string text = scop[id].text.name;
  for (size_t d = 0; d < iters.size(); ++d)
    text += (d == 0 ? " at (" : ", ") + scop[id].text.iters[d] + "=" + std::to_string(iters[d]);
  return iters.empty() ? text : text + ")";
}

FirstPair first_pair(const poly::Scop& scop, const isl::map& pairs) {
  std::vector<std::string> names;
  for (const program::Param& p : scop.params)
    names.push_back(p.name);
  FirstPair first;
  isl::set points = pairs.wrap().flatten();
  first.params = poly::first_point(poly::parameters_as_set(points.params(), names));
  for (size_t k = 0; k < names.size(); ++k)
    points = poly::fix_parameter(points, names[k], first.params[k]);
  const std::vector<int64_t> at = poly::first_point(points.project_out_all_params());
  const auto middle =
      at.begin() + static_cast<std::ptrdiff_t>(poly::dimension_count(pairs.domain()));
  first.source.assign(at.begin(), middle);
  first.sink.assign(middle, at.end());
  return first;
}

std::string sizes_text(const poly::Scop& scop, const std::vector<int64_t>& params) {
  std::vector<std::string> sizes;
  for (size_t k = 0; k < params.size(); ++k)
    sizes.push_back(scop.params[k].name + " = " + std::to_string(params[k]));
  return sizes.empty() ? "" : "for " + join(sizes, ", ");
}

} // namespace kawara::schedule
