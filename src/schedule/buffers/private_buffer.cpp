#include "schedule/buffers/private_buffer.h"

#include "poly/isl/dimensions.h"
#include "schedule/tree/rewrite.h"

namespace kawara::schedule {

using scalar::Expr;

namespace {

bool has_cases(const Expr& end) {
  const auto* binary = scalar::as<scalar::Binary>(end);
  return binary != nullptr &&
         (binary->op == scalar::BinaryOp::Min || binary->op == scalar::BinaryOp::Max);
}

/// Numbers instead of cases where no value passes them, however large parameters are: every access
/// to the buffer has the first value in it, and each of its cases is a piece of every set about the
/// access.
Ends simpler(Ends ends, const isl::set& used, unsigned d) {
  if (!has_cases(ends.low) && !has_cases(ends.high))
    return ends;
  const isl::set free = used.gist_params(used.params());
  const auto low = poly::dimension_min(free, d), high = poly::dimension_max(free, d);
  if (low && has_cases(ends.low))
    ends.low = scalar::int_lit(*low);
  if (high && has_cases(ends.high))
    ends.high = scalar::int_lit(*high);
  return ends;
}

} // namespace

std::vector<Expr> PrivateBuffer::element(const std::vector<Expr>& outer,
                                         const std::vector<Expr>& position) const {
  std::vector<Expr> element;
  for (size_t d = 0; d < lows.size(); ++d)
    element.push_back(scalar::simplify(outer[d] - lows[d]));
  element.insert(element.end(), position.begin(), position.end());
  return element;
}

PrivateBuffer add_private_buffer(Proposal& to, uint32_t of, const std::string& suffix,
                                 const isl::set& used, size_t depth,
                                 const std::vector<Expr>& extents) {
  std::vector<program::Tensor>& tensors = to.scop.tensors;
  PrivateBuffer buffer{static_cast<uint32_t>(tensors.size()), {}};
  std::vector<std::string> taken;
  for (const program::Tensor& tensor : tensors)
    taken.push_back(tensor.name);
  program::Tensor made;
  made.name = fresh_name(tensors[of].name + suffix, "_", taken);
  made.elem = tensors[of].elem;
  made.where = tensors[of].where;
  made.is_hidden = true;
  made.private_dims = static_cast<uint32_t>(depth);
  for (size_t d = 0; d < depth; ++d) {
    const Ends ends = simpler(ends_of(used, static_cast<unsigned>(d), to.scop.params), used,
                              static_cast<unsigned>(d));
    buffer.lows.push_back(ends.low);
    made.shape.push_back(extent_of(ends));
  }
  made.shape.insert(made.shape.end(), extents.begin(), extents.end());
  tensors.push_back(std::move(made));
  return buffer;
}

} // namespace kawara::schedule
