#include "poly/order_spec.h"
#include "poly/scop.h"

namespace kawara::poly {

std::vector<std::string> spec(const Scop& scop) {
  std::vector<std::string> broken = spec(scop.source_order);
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds)
      broken.push_back(what);
  };
  require(scop.source_order.rows.size() == scop.statements.size(),
          "one list of rows per statement");
  for (uint32_t s = 0; s < scop.statements.size(); ++s) {
    const ScopStatement& statement = scop.statements[s];
    const std::string& name = statement.text.name;
    const size_t loops = path_of(scop.source_order, StmtId{s}).size();
    if (statement.is_removed) {
      require(loops == 0, name + " was removed but is still in the tree");
      continue;
    }
    require(loops == scop.source_order.rows[s].size(), name + ": one row per loop around it");
    require(statement.text.tensor < scop.tensors.size(), name + " writes a tensor of the scop");
    for (const Expr& row : scop.source_order.rows[s])
      require(scalar::is_quasi_affine(row), name + ": quasi-affine rows");
  }
  for (const Dependence& d : scop.dependences)
    require(!scop[d.source].is_removed && !scop[d.sink].is_removed,
            "dependences join live statements");
  return broken;
}

} // namespace kawara::poly
