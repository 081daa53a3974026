#include "schedule/auto_windows.h"

#include "scalar/loads.h"
#include "schedule/auto_cuts.h"
#include "schedule/extent.h"
#include "target/cpu.h"

#include <algorithm>
#include <limits>
#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using scalar::Expr;

namespace {

/// Rows of results in a chunk: with fewer, too many rows would be made twice.
constexpr int64_t kLeastRows = 4;

std::vector<StmtId> present_statements(const Schedule& schedule) {
  std::vector<StmtId> ids;
  for (uint32_t s = 0; s < schedule.scop.statements.size(); ++s)
    if (!schedule.scop.statements[s].is_removed)
      ids.push_back(StmtId{s});
  return ids;
}

std::set<uint32_t> iterators_in(const Expr& e) {
  std::set<uint32_t> found;
  scalar::visit(e, [&](const Expr& n) {
    if (const auto* it = scalar::as<scalar::Iter>(n))
      found.insert(it->index);
  });
  return found;
}

/// The window that a statement reduces: the iterator over its rows and the dimension of the temp that those are in.
struct Window {
  uint32_t temp = 0, iterator = 0;
  size_t dim = 0;
};

class WindowFinder {
public:
  WindowFinder(const Schedule& schedule, const Environment& environment)
      : schedule_(schedule), environment_(environment), ids_(present_statements(schedule)) {}

  std::optional<WindowChunks> first() const {
    for (const StmtId id : ids_)
      if (const auto window = window_of(id))
        if (auto chunks = chunks_for(id, *window))
          return chunks;
    return std::nullopt;
  }

private:
  const program::Statement& text(StmtId id) const { return schedule_.scop[id].text; }
  const program::Tensor& tensor(uint32_t t) const { return schedule_.scop.tensors[t]; }

  std::optional<Window> window_of(StmtId id) const {
    const program::Statement& own = text(id);
    const auto loads = scalar::loads_in(own.value);
    if (own.op == scalar::ReduceOp::None || loads.size() != 1 ||
        tensor(loads[0]->tensor).role != program::Role::Temp)
      return std::nullopt;
    std::set<uint32_t> of_result;
    for (const Expr& index : own.index)
      for (const uint32_t it : iterators_in(index))
        of_result.insert(it);
    for (size_t d = 0; d < loads[0]->index.size(); ++d) {
      const std::set<uint32_t> mixed = iterators_in(loads[0]->index[d]);
      for (const uint32_t it : mixed)
        if (mixed.size() == 2 && of_result.contains(it) &&
            !std::all_of(mixed.begin(), mixed.end(),
                         [&](uint32_t other) { return of_result.contains(other); }))
          return Window{loads[0]->tensor, it, d};
    }
    return std::nullopt;
  }

  /// Temps that are made for the window alone, the last first, when one of them is a product.
  std::vector<uint32_t> made_for(StmtId reader, uint32_t temp) const {
    std::vector<uint32_t> temps{temp};
    std::set<StmtId> users{reader};
    bool has_product = false;
    for (size_t k = 0; k < temps.size(); ++k) {
      for (const StmtId id : ids_) {
        const auto loads = scalar::loads_in(text(id).value);
        const bool reads = std::any_of(loads.begin(), loads.end(),
                                       [&](auto* load) { return load->tensor == temps[k]; });
        if (reads && !users.contains(id) && text(id).tensor != temps[k])
          return {};
      }
      for (const StmtId id : ids_) {
        if (text(id).tensor != temps[k])
          continue;
        users.insert(id);
        const auto loads = scalar::loads_in(text(id).value);
        has_product = has_product || (text(id).op == scalar::ReduceOp::Sum && loads.size() == 2);
        for (const auto* load : loads)
          if (tensor(load->tensor).role == program::Role::Temp &&
              text(id).op == scalar::ReduceOp::None &&
              std::find(temps.begin(), temps.end(), load->tensor) == temps.end())
            temps.push_back(load->tensor);
      }
    }
    return has_product ? temps : std::vector<uint32_t>{};
  }

  /// Rows of results in a chunk: as many as leave the rows of the temp that they need in the second cache, and
  /// every thread with as many chunks as any other. Nothing where all of the temp fits there.
  std::optional<int64_t> rows_of_chunk(const Window& window, int64_t rows) const {
    const program::Tensor& temp = tensor(window.temp);
    int64_t bytes = scalar::bytes_of(temp.elem);
    for (size_t d = 0; d < temp.shape.size(); ++d) {
      const auto extent = scalar::constant_of(temp.shape[d]);
      if (!extent)
        return std::nullopt;
      bytes *= d == window.dim ? 1 : *extent;
    }
    const auto all = scalar::constant_of(temp.shape[window.dim]);
    if (!all || rows < kLeastRows || *all < rows)
      return std::nullopt;
    if (bytes * *all <= environment_.cpu.caches.l2)
      return std::nullopt;
    const int64_t stride = *all / rows, overlap = *all - stride * rows + stride;
    const int64_t room = environment_.cpu.caches.l2 / 8 * 7 / std::max<int64_t>(1, bytes);
    const int64_t most = (room - overlap) / stride, cores = environment_.cpu.cores;
    if (most < kLeastRows)
      return std::nullopt;
    // Of the thread that makes the most rows of the temp, as few as possible.
    int64_t best = most, fewest = std::numeric_limits<int64_t>::max();
    for (int64_t chunk = std::min(most, rows); chunk >= kLeastRows; --chunk) {
      const int64_t count = (rows + chunk - 1) / chunk;
      const int64_t made = (count + cores - 1) / cores * (chunk * stride + overlap - stride);
      if (made < fewest) {
        fewest = made;
        best = chunk;
      }
    }
    return best;
  }

  std::optional<WindowChunks> chunks_for(StmtId reader, const Window& window) const {
    const std::vector<uint32_t> temps = made_for(reader, window.temp);
    const std::vector<LoopId> path = poly::path_of(schedule_.order, reader);
    const std::vector<Expr>& rows = schedule_.order.rows[reader.value];
    const Expr iterator = scalar::iter(window.iterator);
    const auto at = std::find_if(rows.begin(), rows.end(),
                                 [&](const Expr& row) { return scalar::equal(row, iterator); });
    if (temps.empty() || at == rows.end())
      return std::nullopt;
    const auto depth = static_cast<size_t>(at - rows.begin());
    const auto count = longest_run(schedule_.scop, schedule_.order, path[depth]);
    const auto chunk = count ? rows_of_chunk(window, *count) : std::nullopt;
    if (!chunk || *chunk >= *count)
      return std::nullopt;
    const auto loop = [&](size_t d, const char* suffix) {
      return LoopName{text(reader).name, schedule_.order[path[d]].name + suffix};
    };
    WindowChunks chunks{{Split{loop(depth, ""), *chunk}}, reader, temps};
    if (depth > 0) {
      Reorder order{{loop(depth, ".0")}};
      for (size_t d = 0; d < depth; ++d)
        order.loops.push_back(loop(d, ""));
      chunks.plan.emplace_back(std::move(order));
    }
    for (const uint32_t temp : temps)
      for (const StmtId id : ids_)
        if (text(id).tensor == temp) {
          chunks.plan.emplace_back(ComputeAt{text(id).name, loop(depth, ".0")});
          break;
        }
    return chunks;
  }

  const Schedule& schedule_;
  const Environment& environment_;
  std::vector<StmtId> ids_;
};

/// An index without what counts copies.
std::vector<Expr> own_index(const Schedule& schedule, uint32_t tensor,
                            const std::vector<Expr>& index) {
  const auto copies = static_cast<std::ptrdiff_t>(schedule.scop.tensors[tensor].private_dims);
  return {index.begin() + copies, index.end()};
}

/// The dimension of the product's result that its lanes walk along.
std::optional<size_t> lane_dimension(const Schedule& schedule, const Product& p) {
  const Expr& lanes = schedule.order.rows[p.update().value][p.nest.depth + p.lanes];
  const std::vector<Expr> index =
      own_index(schedule, p.result, schedule.scop[p.update()].text.index);
  for (size_t d = 0; d < index.size(); ++d)
    if (scalar::equal(index[d], lanes))
      return d;
  return std::nullopt;
}

/// Whether the statement reads the temp, if at all, at the index of the cell that it writes.
bool reads_own_cell(const Schedule& schedule, StmtId id, uint32_t temp) {
  const program::Statement& text = schedule.scop[id].text;
  const std::vector<Expr> own = own_index(schedule, text.tensor, text.index);
  const auto loads = scalar::loads_in(text.value);
  return std::all_of(loads.begin(), loads.end(), [&](const scalar::Load* load) {
    if (load->tensor != temp)
      return true;
    const std::vector<Expr> index = own_index(schedule, temp, load->index);
    return std::equal(index.begin(), index.end(), own.begin(), own.end(), scalar::equal);
  });
}

} // namespace

std::vector<Directive> lanes_together(const Schedule& schedule, const WindowChunks& chunks,
                                      const Product& p, const Environment& environment) {
  const auto dim = lane_dimension(schedule, p);
  const int64_t vector = target::vector_lanes(environment.cpu, element_bytes(schedule, p));
  if (!p.turns_over || !dim || p.extents[p.lanes] % vector != 0)
    return {};
  // A window that reached along the lanes would need several vectors for one.
  const scalar::Load* window = scalar::loads_in(schedule.scop[chunks.reader].text.value).front();
  const std::vector<Expr> cell = own_index(schedule, window->tensor, window->index);
  if (scalar::as<scalar::Iter>(cell[*dim]) == nullptr)
    return {};
  std::vector<LayoutPart> parts;
  for (size_t d = 0; d < cell.size(); ++d)
    if (d != *dim)
      parts.push_back({static_cast<int64_t>(d)});
  parts.push_back({static_cast<int64_t>(*dim)});
  std::vector<Directive> plan;
  for (const uint32_t temp : chunks.temps) {
    for (const StmtId id : present_statements(schedule))
      if (id != chunks.reader && !reads_own_cell(schedule, id, temp))
        return {};
    plan.emplace_back(Layout{schedule.scop.tensors[temp].name, parts});
  }
  return plan;
}

std::optional<WindowChunks> window_chunks(const Schedule& schedule,
                                          const Environment& environment) {
  if (environment.gpu)
    return std::nullopt;
  return WindowFinder(schedule, environment).first();
}

} // namespace kawara::schedule
