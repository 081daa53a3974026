#pragma once

#include "emit/cuda/expr.h"

#include <map>

namespace kawara::emit {

/// One lane of a vector expression as a scalar one. Vector variables and vectors that were loaded
/// before
/// (`loaded`) are read at that lane.
class Lanes {
public:
  explicit Lanes(CudaExpr& expr) : expr_(expr) {}

  /// The load stands in the variable called `name`.
  void set_loaded(const scalar::Expr& load, std::string name);
  /// Before the next statement, which may find other values there; nothing while vectors are kept.
  void forget_loaded() {
    if (!is_kept_)
      loaded_.clear();
  }
  void keep_loaded(bool are_kept) {
    is_kept_ = are_kept;
    if (!are_kept)
      loaded_.clear();
  }
  bool is_loaded(const scalar::Expr& load) const { return name_of(load) != nullptr; }
  const std::string* name_of(const scalar::Expr& load) const; ///< null where it is not loaded
  scalar::Expr lane_of(const scalar::Expr& e, int64_t lane);
  /// Horizontal reductions spelled out lane by lane.
  scalar::Expr without_reductions(const scalar::Expr&);

private:
  CudaExpr& expr_;
  std::vector<std::pair<scalar::Expr, std::string>> loaded_;
  bool is_kept_ = false;
};

/// Values of variables that are defined once and never assigned.
using Definitions = std::map<uint32_t, scalar::Expr>;
Definitions definitions_in(const kernel::Block&);

/// Is the vector's first element provably at a multiple of its number of lanes, from an aligned
/// start?
bool is_aligned(const kernel::Kernel&, uint32_t buffer, const std::vector<scalar::Expr>& index,
                const Definitions&);
/// Consecutive elements: a ramp of stride 1 as the last index, the others scalar.
bool is_run(const std::vector<scalar::Expr>& index);
/// The load of an asynchronous store that the hardware can do: 4, 8 or 16 aligned bytes of one
/// type. Null for others.
const scalar::Load* copied_by_hardware(const kernel::Kernel&, const kernel::Store&,
                                       const Definitions&);
/// The same index at the first element.
std::vector<scalar::Expr> first_of(const std::vector<scalar::Expr>& index);

} // namespace kawara::emit
