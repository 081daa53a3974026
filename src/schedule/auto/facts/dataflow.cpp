#include "schedule/auto/facts/dataflow.h"

#include "scalar/loads.h"

#include <algorithm>

namespace kawara::schedule {

using poly::StmtId;

namespace {

/// Data that the statement needs, in its value or to know where it runs and what it writes.
std::vector<const scalar::Load*> all_loads(const program::Statement& text) {
  std::vector<const scalar::Load*> loads = scalar::loads_in(text.value);
  const auto add = [&](const scalar::Expr& e) {
    const auto more = scalar::loads_in(e);
    loads.insert(loads.end(), more.begin(), more.end());
  };
  for (const scalar::Expr& index : text.index)
    add(index);
  if (text.over) {
    add(text.over->lo);
    add(text.over->hi);
  }
  return loads;
}

} // namespace

Dataflow::Dataflow(const poly::Scop& scop) : tensors_(scop.tensors.size()) {
  for (uint32_t s = 0; s < scop.statements.size(); ++s) {
    const poly::ScopStatement& statement = scop.statements[s];
    if (statement.is_removed)
      continue;
    tensors_[statement.text.tensor].writers.push_back(StmtId{s});
    for (const scalar::Load* load : all_loads(statement.text)) {
      std::vector<StmtId>& readers = tensors_[load->tensor].readers;
      if (readers.empty() || readers.back() != StmtId{s})
        readers.push_back(StmtId{s});
    }
  }
  std::vector<Kept> known(tensors_.size(), Kept::Unknown);
  for (uint32_t t = 0; t < tensors_.size(); ++t)
    tensors_[t].keeps_values = keeps_values(scop, t, known);
}

bool Dataflow::keeps_values(const poly::Scop& scop, uint32_t tensor,
                            std::vector<Kept>& known) const {
  if (known[tensor] != Kept::Unknown)
    return known[tensor] == Kept::Yes; // made of itself: it does not
  const program::Tensor& own = scop.tensors[tensor];
  bool is_kept = own.is_constant;
  if (!own.is_constant && own.role == program::Role::Temp) {
    known[tensor] = Kept::Asked;
    const std::vector<StmtId>& writers = tensors_[tensor].writers;
    is_kept = !writers.empty() && std::all_of(writers.begin(), writers.end(), [&](StmtId id) {
      const auto loads = scalar::loads_in(scop[id].text.value);
      return !loads.empty() &&
             std::all_of(loads.begin(), loads.end(), [&](const scalar::Load* load) {
               return keeps_values(scop, load->tensor, known);
             });
    });
  }
  known[tensor] = is_kept ? Kept::Yes : Kept::No;
  return is_kept;
}

bool Dataflow::is_local_to(uint32_t tensor, const std::vector<StmtId>& statements) const {
  const auto is_among = [&](StmtId id) {
    return std::find(statements.begin(), statements.end(), id) != statements.end();
  };
  const TensorFlow& flow = tensors_[tensor];
  return std::all_of(flow.writers.begin(), flow.writers.end(), is_among) &&
         std::all_of(flow.readers.begin(), flow.readers.end(), is_among);
}

std::optional<std::string> reader_if_several(const poly::Scop& scop, uint32_t tensor,
                                             StmtId reader) {
  return Dataflow(scop)[tensor].readers.size() > 1 ? std::optional(scop[reader].text.name)
                                                   : std::nullopt;
}

} // namespace kawara::schedule
