#include "kernel/gpu/register_elements.h"

#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <map>
#include <optional>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::Expr;

/// An index as terms that all accesses share, and constants.
struct Spot {
  std::vector<Expr> terms; ///< by dimension, without the constant
  std::vector<int64_t> constants;
  uint16_t lanes = 1;
};

std::optional<Spot> spot_of(const std::vector<Expr>& index) {
  Spot spot;
  for (const Expr& e : index) {
    Expr first = e;
    if (const auto* ramp = as<scalar::Ramp>(e)) {
      if (ramp->stride != 1 || &e != &index.back())
        return std::nullopt;
      first = ramp->base;
      spot.lanes = e.type().lanes;
    }
    if (first.type() != scalar::kIndex || has_load(first))
      return std::nullopt;
    scalar::AffineSum sum = scalar::affine_sum(first);
    spot.constants.push_back(sum.constant);
    sum.constant = 0;
    spot.terms.push_back(scalar::simplify(scalar::expr_of(sum)));
  }
  return spot;
}

class Registers {
public:
  Registers(Kernel& kernel, const Allocate& allocate)
      : kernel_(kernel), buffer_(allocate.buffer), set_inside_(vars_set_in(allocate.body)) {
    visit_loads(allocate.body, [&](const scalar::Load& load) {
      if (load.tensor == buffer_)
        access(load.index);
    });
    visit(allocate.body, [&](const Store& store) {
      if (store.buffer == buffer_)
        access(store.index);
    });
    is_fine_ = is_fine_ && !has(allocate.body, [&](const Zero& z) { return z.buffer == buffer_; });
  }

  bool can() const {
    return is_fine_ && !elements_.empty() && places_.size() <= kMostRegisterElements;
  }

  Block replaced(const Block& body) { return is_uniform_ ? in_variables(body) : in_array(body); }

private:
  Block in_array(const Block& body) {
    int64_t next = 0;
    for (auto& [constants, place] : places_)
      place = next++;
    // Another Allocate of the buffer, in a partial tile, may have to stay as it is.
    Buffer buffer = kernel_.buffers[buffer_];
    const uint32_t own = static_cast<uint32_t>(kernel_.buffers.size());
    buffer.name += "_own" + std::to_string(own);
    buffer.scope = Scope::Private;
    buffer.shape = {scalar::int_lit(next)};
    kernel_.buffers.push_back(std::move(buffer));
    Block placed = map_accesses(body, [&](uint32_t& touched, std::vector<Expr>& index) {
      if (touched != buffer_)
        return false;
      touched = own;
      index = place_of(index);
      return true;
    });
    return block_of(Allocate{own, std::move(placed)});
  }

  Block in_variables(const Block& body) {
    const Buffer& buffer = kernel_.buffers[buffer_];
    const scalar::Type type{buffer.elem, lanes_};
    Block result;
    for (auto& [constants, var] : elements_) {
      var = add_variable(kernel_, kernel_.buffers[buffer_].name, type);
      result.emplace_back(Define{var, scalar::zero_of(type)});
    }
    const Block read = map_exprs(body, [&](const Expr& root) {
      return scalar::rewrite(root, [&](const Expr& e) {
        const auto* load = as<scalar::Load>(e);
        return load != nullptr && load->tensor == buffer_ ? scalar::var(var_of(load->index), type)
                                                          : Expr();
      });
    });
    const scalar::Type computed{scalar::compute_type(buffer.elem), lanes_};
    append(result, rewrite(read, [&](const Store& store) -> Stmt {
             if (store.buffer != buffer_)
               return store;
             const uint32_t var = var_of(store.index);
             const Expr old = scalar::cast(scalar::var(var, type), computed);
             const Expr value = scalar::combine(store.op, old, scalar::cast(store.value, computed));
             return Assign{var, scalar::cast(value, type), store.origins};
           }));
    return result;
  }

  void access(const std::vector<Expr>& index) {
    if (!is_fine_)
      return;
    const auto spot = spot_of(index);
    const bool is_first = elements_.empty();
    // A position in the buffer and indices by dimension do not compare.
    is_fine_ = spot.has_value() && (is_first || spot->terms.size() == terms_.size());
    if (!is_fine_)
      return;
    if (is_first) {
      lanes_ = spot->lanes;
      terms_ = spot->terms;
      start_ = spot->constants.empty() ? 0 : spot->constants.back();
    }
    is_uniform_ = is_uniform_ && spot->lanes == lanes_;
    for (size_t d = 0; d < terms_.size(); ++d)
      is_fine_ = is_fine_ && scalar::equal(terms_[d], spot->terms[d]) &&
                 !mentions_any(terms_[d], set_inside_);
    if (!spot->constants.empty())
      is_uniform_ = is_uniform_ && (spot->constants.back() - start_) % lanes_ == 0;
    elements_[spot->constants];
    for (std::vector<int64_t> lane = spot->constants; lane.size() == index.size();) {
      places_[lane];
      if (lane.empty() || ++lane.back() >= spot->constants.back() + spot->lanes)
        break;
    }
  }

  /// Where the first element lies in the array.
  std::vector<Expr> place_of(const std::vector<Expr>& index) const {
    const auto spot = spot_of(index);
    const Expr first = scalar::int_lit(places_.at(spot->constants));
    return {spot->lanes > 1 ? scalar::ramp(first, 1, spot->lanes) : first};
  }

  uint32_t var_of(const std::vector<Expr>& index) const {
    return elements_.at(spot_of(index)->constants);
  }

  Kernel& kernel_;
  uint32_t buffer_;
  VarSet set_inside_;
  std::vector<Expr> terms_;
  int64_t start_ = 0;
  uint16_t lanes_ = 1;
  bool is_fine_ = true, is_uniform_ = true; ///< all vectors of one width that do not overlap
  std::map<std::vector<int64_t>, uint32_t> elements_; ///< variable by constants of the index
  std::map<std::vector<int64_t>, int64_t> places_; ///< position in the array, likewise; every lane
};

} // namespace

Kernel register_elements(Kernel kernel, const Launch& launch) {
  const Block body = std::exchange(kernel.body, {});
  kernel.body = rewrite(body, [&](Allocate allocate) {
    const bool is_own = kernel.buffers[allocate.buffer].scope == Scope::Private ||
                        launch.thread_private.contains(allocate.buffer);
    Registers registers(kernel, allocate);
    return is_own && registers.can() ? registers.replaced(allocate.body)
                                     : block_of(std::move(allocate));
  });
  return kernel;
}

} // namespace kawara::kernel
