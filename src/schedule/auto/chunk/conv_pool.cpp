#include "schedule/auto/chunk/conv_pool.h"

#include "program/contraction.h"
#include "scalar/loads.h"
#include "schedule/auto/product/blocking.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/nest.h"
#include "target/cpu.h"

#include <algorithm>
#include <limits>
#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using scalar::Expr;

std::vector<StmtId> live_statements(const Schedule& schedule) {
  std::vector<StmtId> ids;
  for (uint32_t s = 0; s < schedule.scop.statements.size(); ++s)
    if (!schedule.scop.statements[s].is_removed)
      ids.push_back(StmtId{s});
  return ids;
}

std::vector<uint32_t> temps_made_for(const Schedule& schedule, const Dataflow& flow, StmtId reader,
                                     uint32_t temp) {
  const auto text = [&](StmtId id) -> const program::Statement& { return schedule.scop[id].text; };
  std::vector<uint32_t> temps{temp};
  std::set<StmtId> users{reader};
  bool has_product = false;
  for (size_t k = 0; k < temps.size(); ++k) {
    for (const StmtId id : flow[temps[k]].readers)
      if (!users.contains(id) && text(id).tensor != temps[k])
        return {};
    for (const StmtId id : flow[temps[k]].writers) {
      users.insert(id);
      const auto loads = scalar::loads_in(text(id).value);
      has_product = has_product || program::summed_pair_of(text(id)).has_value();
      for (const auto* load : loads)
        if (schedule.scop.tensors[load->tensor].role == program::Role::Temp &&
            text(id).op == scalar::ReduceOp::None &&
            std::find(temps.begin(), temps.end(), load->tensor) == temps.end())
          temps.push_back(load->tensor);
    }
  }
  return has_product ? temps : std::vector<uint32_t>{};
}

namespace {

/// Rows of results in a chunk: with fewer, too many rows would be made twice.
constexpr int64_t kLeastRows = 4;
/// Channels that could be made in the time that it takes to bring together what all of a part's are
/// made of.
constexpr int64_t kBrought = 1;

/// The window that a statement reduces: the iterator over its rows and the dimension of the temp
/// that those are in.
struct Window {
  uint32_t temp = 0, iterator = 0;
  size_t dim = 0;
};

class WindowFinder {
public:
  WindowFinder(const Schedule& schedule, const Environment& environment)
      : schedule_(schedule), environment_(environment), ids_(live_statements(schedule)),
        flow_(schedule.scop) {}

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
      for (const uint32_t it : iterators_of(index))
        of_result.insert(it);
    for (size_t d = 0; d < loads[0]->index.size(); ++d) {
      const std::set<uint32_t> mixed = iterators_of(loads[0]->index[d]);
      for (const uint32_t it : mixed)
        if (mixed.size() == 2 && of_result.contains(it) &&
            !std::all_of(mixed.begin(), mixed.end(),
                         [&](uint32_t other) { return of_result.contains(other); }))
          return Window{loads[0]->tensor, it, d};
    }
    return std::nullopt;
  }

  /// What a chunk has of the results.
  struct Chunk {
    int64_t rows = 0, channels = 0;
  };

  /// Chunks leave the rows of the temp that they need in the L2, and every thread with as many as
  /// any other. Rows that two of them need are made twice, of fewer channels where chunks have not
  /// all of them; what those are made of is then brought together for each part of them. Nothing
  /// where all of the temp fits that cache.
  std::optional<Chunk> chunk_of(const Window& window, int64_t rows, int64_t channels) const {
    const program::Tensor& temp = tensor(window.temp);
    int64_t bytes = scalar::bytes_of(temp.elem);
    for (size_t d = 0; d < temp.shape.size(); ++d) {
      const auto extent = scalar::constant_of(temp.shape[d]);
      if (!extent)
        return std::nullopt;
      bytes *= d == window.dim ? 1 : *extent;
    }
    const target::Cpu& cpu = environment_.cpu;
    const auto all = scalar::constant_of(temp.shape[window.dim]);
    if (!all || rows < kLeastRows || *all < rows || bytes * *all <= cpu.caches.l2)
      return std::nullopt;
    const int64_t stride = *all / rows, overlap = *all - stride * rows + stride;
    const int64_t unit =
        std::max(cpu.caches.line, 2 * cpu.vector_bytes) / scalar::bytes_of(temp.elem);
    // Of the thread that makes the most elements of the temp, as few as possible.
    std::optional<Chunk> best;
    int64_t fewest = std::numeric_limits<int64_t>::max();
    for (int64_t parts = 1; parts == 1 || parts * unit <= channels; ++parts) {
      const int64_t part = channels / parts;
      if (channels % parts != 0 || (parts > 1 && part % unit != 0))
        continue;
      const int64_t room = cpu.caches.l2 / 8 * 7 / std::max<int64_t>(1, bytes / parts);
      const int64_t most = std::min((room - overlap) / stride, parts > 1 ? rows : rows - 1);
      for (int64_t chunk = most; chunk >= kLeastRows; --chunk) {
        const int64_t count = parts * ((rows + chunk - 1) / chunk);
        const int64_t made = (count + cpu.cores - 1) / cpu.cores *
                             (chunk * stride + overlap - stride) * (part + kBrought);
        if (made < fewest) {
          fewest = made;
          best = Chunk{chunk, part};
        }
      }
    }
    return best;
  }

  std::optional<WindowChunks> chunks_for(StmtId reader, const Window& window) const {
    WindowChunks chunks{{}, {}, reader, temps_made_for(schedule_, flow_, reader, window.temp)};
    const auto depth = depth_of(reader, scalar::iter(window.iterator));
    const auto rows = depth ? length(reader, *depth) : std::nullopt;
    if (chunks.temps.empty() || !rows)
      return std::nullopt;
    if (const auto chunk = chunk_of(window, *rows, 1))
      add_chunks(chunks.plan, chunks, *depth, chunk->rows, std::nullopt);
    for (size_t dim = 0; dim < window.dim; ++dim) {
      const auto parted = channels_of(reader, chunks, dim);
      const auto channels = parted ? length(reader, *parted) : std::nullopt;
      const auto chunk = channels ? chunk_of(window, *rows, *channels) : std::nullopt;
      if (!chunk || chunk->channels == *channels)
        continue;
      add_parts(chunks.in_parts, chunks, dim, chunk->channels);
      add_chunks(chunks.in_parts, chunks, *depth, chunk->rows, parted);
      break;
    }
    const bool is_found = !chunks.plan.empty() || !chunks.in_parts.empty();
    return is_found ? std::optional(std::move(chunks)) : std::nullopt;
  }

  LoopName loop(StmtId id, size_t depth, const char* suffix) const {
    const LoopId at = poly::path_of(schedule_.order, id)[depth];
    return {text(id).name, schedule_.order[at].name + suffix};
  }

  std::optional<int64_t> length(StmtId id, size_t depth) const {
    const LoopId at = poly::path_of(schedule_.order, id)[depth];
    return known_run(schedule_.scop, schedule_.order, at);
  }

  /// The position of the loop that walks along an iterator.
  std::optional<size_t> depth_of(StmtId id, const Expr& iterator) const {
    const std::vector<Expr>& rows = schedule_.order.rows[id.value];
    const auto at = std::find_if(rows.begin(), rows.end(),
                                 [&](const Expr& row) { return scalar::equal(row, iterator); });
    if (at == rows.end() || scalar::as<scalar::Iter>(iterator) == nullptr)
      return std::nullopt;
    return static_cast<size_t>(at - rows.begin());
  }

  /// Chunks of rows, with what each needs right before it. `parted`: the loop of which only a part
  /// is still inside.
  void add_chunks(std::vector<Directive>& plan, const WindowChunks& chunks, size_t depth,
                  int64_t rows, std::optional<size_t> parted) const {
    const StmtId reader = chunks.reader;
    plan.emplace_back(Split{loop(reader, depth, ""), rows});
    Reorder order{{loop(reader, depth, ".0")}};
    for (size_t d = 0; d < depth; ++d)
      order.loops.push_back(loop(reader, d, parted == d ? ".1" : ""));
    if (depth > 0)
      plan.emplace_back(std::move(order));
    for (const uint32_t temp : chunks.temps)
      for (const StmtId id : ids_)
        if (text(id).tensor == temp) {
          plan.emplace_back(ComputeAt{text(id).name, loop(reader, depth, ".0")});
          break;
        }
  }

  /// The loop over a dimension of the temps, in a statement that makes one of them or the reader's
  /// result.
  std::optional<size_t> channels_of(StmtId id, const WindowChunks& chunks, size_t dim) const {
    const program::Statement& own = text(chunks.reader);
    size_t at = dim;
    if (text(id).tensor == own.tensor) {
      const Expr& channel = scalar::loads_in(own.value).front()->index[dim];
      for (at = 0; at < own.index.size() && !scalar::equal(own.index[at], channel);)
        ++at;
    }
    return at < text(id).index.size() ? depth_of(id, text(id).index[at]) : std::nullopt;
  }

  /// One loop over parts of a dimension around all nests.
  void add_parts(std::vector<Directive>& plan, const WindowChunks& chunks, size_t dim,
                 int64_t size) const {
    std::set<LoopId> nests;
    std::vector<LoopName> parts;
    for (const StmtId id : ids_) {
      const auto is_own = [&](uint32_t t) { return text(id).tensor == t; };
      if ((!is_own(text(chunks.reader).tensor) &&
           std::none_of(chunks.temps.begin(), chunks.temps.end(), is_own)) ||
          !nests.insert(poly::path_of(schedule_.order, id).front()).second)
        continue;
      const auto depth = channels_of(id, chunks, dim);
      if (!depth)
        return plan.clear();
      plan.emplace_back(Split{loop(id, *depth, ""), size});
      parts.push_back(loop(id, *depth, ".0"));
      Reorder order{{parts.back()}};
      for (size_t d = 0; d < *depth; ++d)
        order.loops.push_back(loop(id, d, ""));
      if (*depth > 0)
        plan.emplace_back(std::move(order));
    }
    for (size_t k = 1; k < parts.size(); ++k)
      plan.emplace_back(Fuse{parts.front(), parts[k]});
  }

  const Schedule& schedule_;
  const Environment& environment_;
  std::vector<StmtId> ids_;
  const Dataflow flow_;
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
  const std::set<uint32_t> walked = iterators_of(lanes);
  const std::vector<Expr> index =
      own_index(schedule, p.result, schedule.scop[p.update()].text.index);
  for (size_t d = 0; d < index.size(); ++d)
    if (scalar::as<scalar::Iter>(index[d]) != nullptr && iterators_of(index[d]) == walked)
      return d;
  return std::nullopt;
}

/// Whether the statement reads the temp, if at all, at the index of the element that it writes.
bool reads_own_element(const Schedule& schedule, StmtId id, uint32_t temp) {
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
  if (!p.stores_transposed || !dim || p.extents[p.lanes] % vector != 0)
    return {};
  // A window that reached along the lanes would need several vectors for one.
  const scalar::Load* window = scalar::loads_in(schedule.scop[chunks.reader].text.value).front();
  const std::vector<Expr> element = own_index(schedule, window->tensor, window->index);
  if (scalar::as<scalar::Iter>(element[*dim]) == nullptr)
    return {};
  std::vector<LayoutPart> parts;
  for (size_t d = 0; d < element.size(); ++d)
    if (d != *dim)
      parts.push_back({static_cast<int64_t>(d)});
  parts.push_back({static_cast<int64_t>(*dim)});
  std::vector<Directive> plan;
  for (const uint32_t temp : chunks.temps) {
    for (const StmtId id : live_statements(schedule))
      if (id != chunks.reader && !reads_own_element(schedule, id, temp))
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
