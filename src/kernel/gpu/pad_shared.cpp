#include "kernel/gpu/pad_shared.h"

#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace kawara::kernel {
namespace {

constexpr int64_t kBanks = 32, kBankBytes = 4, kPieceBytes = 16;

struct BankUse {
  bool has_clash = false;
  int64_t lanes = 1; ///< of the widest access
};

class BankSurvey {
public:
  BankSurvey(const Kernel& kernel, const Launch& launch) : kernel_(kernel) {
    threads_ = {launch.thread_vars.begin(), launch.thread_vars.end()};
    visit_loads(kernel.body, [&](const scalar::Load& load) { access(load.tensor, load.index); });
    visit(kernel.body, [&](const Store& store) { access(store.buffer, store.index); });
  }
  const std::map<uint32_t, BankUse>& uses() const { return uses_; }

private:
  /// Neighbouring threads in one bank: their distance is a multiple of all banks.
  void access(uint32_t buffer, const std::vector<Expr>& index) {
    const Buffer& b = kernel_.buffers[buffer];
    if (b.scope != Scope::Shared || index.size() != b.shape.size() || index.size() < 2)
      return;
    BankUse& use = uses_[buffer];
    use.lanes = std::max({use.lanes, int64_t{index.back().type().lanes}, run_of(b, index.back())});
    int64_t row = scalar::bytes_of(b.elem);
    for (size_t d = index.size(); d-- > 0;) {
      if (d + 1 < index.size() && mentions_any(index[d], threads_) &&
          row % (kBanks * kBankBytes / 2) == 0)
        use.has_clash = true;
      row *= scalar::constant_of(b.shape[d]).value_or(1);
    }
  }

  /// Neighbouring elements that belong to one thread, up to a piece of 16 bytes: they are read at
  /// once where rows keep them aligned.
  int64_t run_of(const Buffer& b, const Expr& index) const {
    int64_t run = kPieceBytes / scalar::bytes_of(b.elem);
    bool has_thread = false;
    for (const auto& [term, factor] : scalar::affine_sum(index).terms)
      if (mentions_any(term, threads_)) {
        has_thread = true;
        run = std::gcd(run, factor);
      }
    return has_thread ? run : 1;
  }

  const Kernel& kernel_;
  VarSet threads_;
  std::map<uint32_t, BankUse> uses_;
};

bool is_by_position(const Buffer& buffer, const std::vector<Expr>& index) {
  return index.size() == 1 && buffer.shape.size() > 1;
}

bool is_multiple_of(const Expr& e, int64_t of) {
  const scalar::AffineSum sum = scalar::affine_sum(e);
  return sum.constant % of == 0 && std::all_of(sum.terms.begin(), sum.terms.end(),
                                               [&](const auto& t) { return t.second % of == 0; });
}

/// The position of the same elements when each row is longer by so many elements; nothing for
/// vectors that may go on in the next row.
std::optional<Expr> moved(const Expr& position, int64_t row, int64_t longer) {
  const auto* ramp = scalar::as<scalar::Ramp>(position);
  const Expr first = ramp != nullptr ? ramp->base : position;
  const int64_t lanes = position.type().lanes;
  const bool is_within = lanes == 1 || (ramp != nullptr && ramp->stride == 1 && row % lanes == 0 &&
                                        is_multiple_of(first, lanes));
  if (first.type() != scalar::kIndex || !is_within)
    return std::nullopt;
  const Expr rows =
      scalar::simplify(scalar::binary(scalar::BinaryOp::FloorDiv, first, scalar::int_lit(row)));
  const Expr at = scalar::simplify(first + rows * scalar::int_lit(longer));
  return lanes == 1 ? at : scalar::ramp(at, 1, static_cast<uint16_t>(lanes));
}

/// Rows of shared buffers become longer, one buffer at a time.
class RowPadding {
public:
  RowPadding(const Kernel& kernel, uint32_t buffer, int64_t longer)
      : kernel_(kernel), buffer_(buffer), longer_(longer),
        row_(*scalar::constant_of(kernel.buffers[buffer].shape.back())) {}

  /// The body with positions in the buffer as they are then; nothing where one is not known.
  std::optional<Block> of(const Block& body) {
    Block padded = map_accesses(body, [&](const uint32_t& buffer, std::vector<Expr>& index) {
      if (!is_moved(buffer, index))
        return false;
      index = at(index);
      return true;
    });
    return is_fine_ ? std::optional(std::move(padded)) : std::nullopt;
  }

private:
  bool is_moved(uint32_t buffer, const std::vector<Expr>& index) const {
    return buffer == buffer_ && is_by_position(kernel_.buffers[buffer], index);
  }
  std::vector<Expr> at(const std::vector<Expr>& index) {
    const auto found = moved(index[0], row_, longer_);
    is_fine_ = is_fine_ && found.has_value();
    return {found.value_or(index[0])};
  }

  const Kernel& kernel_;
  uint32_t buffer_;
  int64_t longer_, row_;
  bool is_fine_ = true;
};

} // namespace

Kernel pad_shared(Kernel kernel, const Launch& launch) {
  const std::map<uint32_t, BankUse> uses = BankSurvey(kernel, launch).uses();
  for (const auto& [id, use] : uses) {
    if (!use.has_clash)
      continue;
    const int64_t elements =
        std::max<int64_t>(use.lanes, kBankBytes / scalar::bytes_of(kernel.buffers[id].elem));
    auto body = RowPadding(kernel, id, elements).of(kernel.body);
    if (!body)
      continue;
    kernel.body = *std::move(body);
    Buffer& buffer = kernel.buffers[id];
    buffer.shape.back() = scalar::int_lit(*scalar::constant_of(buffer.shape.back()) + elements);
  }
  return kernel;
}

} // namespace kawara::kernel
