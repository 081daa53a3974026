#include "program/interpret/index_values.h"

#include "scalar/eval.h"
#include "scalar/loads.h"
#include "support/hash.h"

#include <algorithm>

namespace kawara::program {
namespace {

using Found = std::vector<std::optional<IndexValues>>;

/// The load that an index is, but for conversions.
const scalar::Load* plain_read(const Expr& e) {
  if (const auto* cast = scalar::as<scalar::Cast>(e))
    return plain_read(cast->arg);
  return scalar::as<scalar::Load>(e);
}

class Collector {
public:
  Collector(const Program& program, const std::vector<int64_t>& params,
            const std::vector<std::vector<int64_t>>& shapes)
      : program_(program), params_(params), shapes_(shapes), found_(program.tensors.size()) {}

  Found run() {
    for (const Statement& s : program_.statements)
      statement(s);
    for (size_t t = 0; t < found_.size(); ++t)
      if (const auto& values = program_.tensors[t].values; found_[t] && values) {
        const auto low = scalar::evaluate_index(values->lo, {}, params_);
        const auto high = scalar::evaluate_index(values->hi, {}, params_);
        found_[t]->low = std::max(found_[t]->low, low.value_or(0));
        found_[t]->high = std::min(found_[t]->high, high.value_or(0) - 1);
      }
    return std::move(found_);
  }

private:
  void limit(uint32_t tensor, int64_t highest) {
    auto& own = found_[tensor];
    if (!own)
      own = IndexValues{0, highest, false};
    own->high = std::min(own->high, highest);
  }

  void statement(const Statement& s) {
    std::optional<int64_t> shortest; // of the dimensions that the loop over a range runs through
    visit_exprs(s, [&](const Expr& root) {
      scalar::visit(root, [&](const Expr& e) {
        const auto* n = scalar::as<scalar::Within>(e);
        if (n == nullptr)
          return;
        const int64_t extent = shapes_[n->tensor][n->dim];
        const auto* it = scalar::as<scalar::Iter>(n->index);
        if (it != nullptr && it->index >= s.iters.size())
          shortest = std::min(shortest.value_or(extent), extent);
        // Of what is computed from several numbers nothing is known but that zeros stay small.
        for (const scalar::Load* load : scalar::loads_in(n->index))
          limit(load->tensor, plain_read(n->index) == load ? extent - 1 : 0);
      });
    });
    if (!s.over)
      return;
    for (const Expr* bound : {&s.over->lo, &s.over->hi})
      for (const scalar::Load* load : scalar::loads_in(*bound)) {
        limit(load->tensor, shortest.value_or(0));
        found_[load->tensor]->ascends = true;
      }
  }

  const Program& program_;
  const std::vector<int64_t>& params_;
  const std::vector<std::vector<int64_t>>& shapes_;
  Found found_;
};

} // namespace

int64_t IndexValues::value(int64_t at, int64_t elements, uint64_t seed) const {
  if (high < low)
    return low;
  if (ascends)
    return low + (elements > 1 ? (high - low) * at / (elements - 1) : 0);
  const uint64_t rng = hash_mix(hash_mix(seed, 11), static_cast<uint64_t>(at));
  return low + static_cast<int64_t>(rng % static_cast<uint64_t>(high - low + 1));
}

Found index_values(const Program& program, const std::vector<int64_t>& params,
                   const std::vector<std::vector<int64_t>>& shapes) {
  return Collector(program, params, shapes).run();
}

} // namespace kawara::program
