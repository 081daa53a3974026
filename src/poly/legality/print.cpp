#include "poly/affine.h"
#include "poly/isl/text.h"
#include "poly/legality/dependences.h"
#include "poly/scop.h"

namespace kawara::poly {

scalar::Names names_of(const Scop& scop, StmtId id) {
  scalar::Names names;
  names.iters = scop[id].text.iters;
  if (scop[id].text.over)
    names.iters.push_back(scop[id].text.over->name);
  for (const program::Param& p : scop.params)
    names.params.push_back(p.name);
  for (const program::Tensor& t : scop.tensors)
    names.tensors.push_back(t.name);
  return names;
}

std::vector<std::string> names_of_statements(const Scop& scop) {
  std::vector<std::string> names;
  for (const ScopStatement& s : scop.statements)
    names.push_back(s.text.name);
  return names;
}

std::string print(const Scop& scop) {
  std::string out = "context\n  " + text_of(scop.context) + "\n";
  const std::vector<Access> all = accesses(scop);
  for (uint32_t s = 0; s < scop.statements.size(); ++s) {
    const ScopStatement& statement = scop.statements[s];
    if (statement.is_removed)
      continue;
    out += statement.text.name + "\n  domain " + text_of(statement.domain) + "\n";
    for (const Access& access : all)
      if (access.statement == StmtId{s})
        out += std::string(access.is_write ? "  write  " : "  read   ") + text_of(access.relation) +
               (access.is_sure     ? access.is_update ? "  # update" : ""
                : access.is_update ? "  # update, may"
                                   : "  # may") +
               "\n";
    out += "  order  [";
    const auto& rows = scop.source_order.rows[s];
    for (size_t k = 0; k < rows.size(); ++k)
      out += (k ? ", " : "") + scalar::to_string(rows[k], names_of(scop, StmtId{s}));
    out += "]\n";
  }
  return out;
}

} // namespace kawara::poly
