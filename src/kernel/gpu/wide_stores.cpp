#include "kernel/gpu/wide_stores.h"

#include "kernel/gpu/warpgroup/group_parts.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <optional>

namespace kawara::kernel {
namespace {

using scalar::int_lit;

constexpr int64_t kStoredBytes = 16, kFewestStoredBytes = 4;

bool loads_from(const Expr& root, uint32_t buffer) {
  bool is_found = false;
  scalar::visit(root, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    is_found = is_found || (load != nullptr && load->tensor == buffer);
  });
  return is_found;
}

class StoreWidener {
public:
  explicit StoreWidener(Kernel& kernel) : kernel_(kernel) {}

  Block block(const Block& statements) {
    Block result;
    std::vector<uint32_t> buffers;
    for (size_t s = 0; s < statements.size();) {
      const int64_t lanes = lanes_from(statements, s);
      if (lanes == 1) {
        result.push_back(inside(statements[s++]));
        continue;
      }
      buffers.push_back(add_wide(std::get<Store>(statements[s]).buffer, lanes));
      add_piece(statements, s, lanes, buffers.back(), result);
      s += static_cast<size_t>(lanes);
    }
    for (const uint32_t buffer : buffers)
      result = block_of(Allocate{buffer, std::move(result)});
    return result;
  }

private:
  Stmt inside(Stmt stmt) {
    return with_nested_blocks(std::move(stmt), [&](const Block& inner) { return block(inner); });
  }

  const Store* element_store(const Stmt& stmt) const {
    const auto* store = std::get_if<Store>(&stmt);
    if (store == nullptr || store->op != ReduceOp::None || store->is_async ||
        store->value.type().lanes != 1 || store->index.empty())
      return nullptr;
    const Buffer& b = kernel_.buffers[store->buffer];
    const bool is_global = b.scope == Scope::Argument || b.scope == Scope::Workspace;
    return is_global && scalar::is_float(b.elem) && !loads_from(store->value, store->buffer)
               ? store
               : nullptr;
  }

  /// How far the second element lies behind the first one, where that is a constant.
  static std::optional<int64_t> distance(const Store& a, const Store& b) {
    if (a.buffer != b.buffer || a.index.size() != b.index.size() ||
        !std::equal(a.index.begin(), a.index.end() - 1, b.index.begin(), scalar::equal))
      return std::nullopt;
    return scalar::constant_of(scalar::simplify(b.index.back() - a.index.back()));
  }

  /// Of the piece that begins with statement `first`; 1 where there is none.
  int64_t lanes_from(const Block& statements, size_t first) const {
    const Store* begin = element_store(statements[first]);
    if (begin == nullptr)
      return 1;
    const int64_t bytes = scalar::bytes_of(kernel_.buffers[begin->buffer].elem);
    int64_t run = 1;
    while (run < kStoredBytes / bytes && first + static_cast<size_t>(run) < statements.size()) {
      const Store* next = element_store(statements[first + static_cast<size_t>(run)]);
      if (next == nullptr || distance(*begin, *next) != run)
        break;
      ++run;
    }
    int64_t lanes = kStoredBytes / bytes;
    while (lanes > 1 && (lanes > run || !begins_with(*begin, lanes)))
      lanes /= 2;
    return lanes * bytes >= kFewestStoredBytes ? lanes : 1;
  }

  /// The position in memory is a multiple of so many elements.
  bool begins_with(const Store& store, int64_t elements) const {
    Expr linear = store.index[0];
    for (size_t d = 1; d < store.index.size(); ++d)
      linear = linear * kernel_.buffers[store.buffer].shape[d] + store.index[d];
    const scalar::AffineSum sum = scalar::affine_sum(scalar::simplify(linear));
    return sum.constant % elements == 0 &&
           std::all_of(sum.terms.begin(), sum.terms.end(),
                       [&](const auto& term) { return term.second % elements == 0; });
  }

  uint32_t add_wide(uint32_t buffer, int64_t lanes) {
    const Buffer stored = kernel_.buffers[buffer];
    return add_group_buffer(kernel_, stored.name + "_wide", scalar::compute_type(stored.elem),
                            {lanes}, Scope::Private);
  }

  void add_piece(const Block& statements, size_t first, int64_t count, uint32_t wide,
                 Block& result) const {
    for (int64_t lane = 0; lane < count; ++lane) {
      const Store& store = std::get<Store>(statements[first + static_cast<size_t>(lane)]);
      Store part{wide, {int_lit(lane)}, ReduceOp::None, store.value};
      part.origins = store.origins;
      result.emplace_back(std::move(part));
    }
    const auto lanes = static_cast<uint16_t>(count);
    Store whole = std::get<Store>(statements[first]);
    whole.origins.clear();
    whole.index.back() = scalar::ramp(whole.index.back(), 1, lanes);
    whole.value = scalar::load(wide, {scalar::ramp(int_lit(0), 1, lanes)},
                               {kernel_.buffers[wide].elem, lanes});
    result.emplace_back(std::move(whole));
  }

  Kernel& kernel_;
};

} // namespace

Kernel wide_stores(Kernel kernel, const Launch&) {
  const Block body = kernel.body;
  kernel.body = StoreWidener(kernel).block(body);
  return kernel;
}

} // namespace kawara::kernel
