#include "schedule/auto/chunk/back_to_back.h"

#include "program/contraction.h"
#include "scalar/loads.h"
#include "schedule/auto/facts/dataflow.h"
#include "schedule/auto/facts/nest_facts.h"
#include "schedule/tree/nest.h"

#include <algorithm>
#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using scalar::Expr;

namespace {

/// Results for each weight in a chunk: with fewer, products would wait for their weights.
constexpr int64_t kLeastResults = 24;

/// Rows of a temp that a statement multiplies by weights.
struct ResidentRows {
  uint32_t temp = 0;
  size_t temp_dim = 0, result_dim = 0; ///< that the rows are in
  int64_t results = 1;                 ///< of one row for each weight
};

class ResidentFinder {
public:
  ResidentFinder(const Schedule& schedule, const Environment& environment)
      : schedule_(schedule), environment_(environment), ids_(live_statements(schedule)),
        flow_(schedule.scop) {}

  std::optional<WindowChunks> first() const {
    for (const StmtId id : ids_)
      if (const auto rows = rows_of(id))
        if (auto chunks = chunks_for(id, *rows))
          return chunks;
    return std::nullopt;
  }

private:
  const program::Statement& text(StmtId id) const { return schedule_.scop[id].text; }
  const program::Tensor& tensor(uint32_t t) const { return schedule_.scop.tensors[t]; }

  std::optional<ResidentRows> rows_of(StmtId id) const {
    const auto pair = program::summed_pair_of(text(id));
    if (!pair)
      return std::nullopt;
    for (const auto& [load, weights] :
         {std::pair(pair->first, pair->second), std::pair(pair->second, pair->first)})
      if (tensor(load->tensor).role == program::Role::Temp && flow_[weights->tensor].keeps_values)
        if (auto rows = rows_of(id, *load, *weights))
          return rows;
    return std::nullopt;
  }

  /// Along the first iterator that the temp and the result have as it is, and the weights have not.
  std::optional<ResidentRows> rows_of(StmtId id, const scalar::Load& load,
                                      const scalar::Load& weights) const {
    const std::vector<Expr>& result = text(id).index;
    std::set<uint32_t> of_weights;
    for (const Expr& index : weights.index)
      of_weights.merge(iterators_of(index));
    std::optional<ResidentRows> found;
    for (size_t d = 0; d < load.index.size(); ++d) {
      const auto* it = scalar::as<scalar::Iter>(load.index[d]);
      const auto at = std::find_if(result.begin(), result.end(),
                                   [&](const Expr& e) { return scalar::equal(e, load.index[d]); });
      if (it == nullptr || at == result.end() || of_weights.contains(it->index))
        continue;
      if (found)
        found->results *= scalar::constant_of(tensor(load.tensor).shape[d]).value_or(1);
      else
        found = ResidentRows{load.tensor, d, static_cast<size_t>(at - result.begin())};
    }
    return found;
  }

  bool is_made(StmtId id, const std::vector<uint32_t>& temps) const {
    return std::find(temps.begin(), temps.end(), text(id).tensor) != temps.end();
  }

  /// Bytes of weights that every chunk uses.
  int64_t weight_bytes(StmtId reader, const std::vector<uint32_t>& temps) const {
    std::set<uint32_t> weights;
    for (const StmtId id : ids_)
      if (id == reader || is_made(id, temps))
        for (const scalar::Load* load : scalar::loads_in(text(id).value))
          if (flow_[load->tensor].keeps_values)
            weights.insert(load->tensor);
    int64_t bytes = 0;
    for (const uint32_t weight : weights)
      bytes += bytes_of_tensor(tensor(weight));
    return bytes;
  }

  /// Rows of a chunk: of the divisors of all rows the largest one that fits and leaves no thread
  /// with more than others.
  std::optional<int64_t> rows_of_chunk(const ResidentRows& rows) const {
    const auto all = scalar::constant_of(tensor(rows.temp).shape[rows.temp_dim]);
    const int64_t bytes = bytes_of_tensor(tensor(rows.temp)), cores = environment_.cpu.cores;
    if (!all || *all < 1 || bytes <= environment_.cpu.caches.l2)
      return std::nullopt;
    const int64_t most = environment_.cpu.caches.l2 / 4 / std::max<int64_t>(1, bytes / *all);
    const int64_t least = std::max<int64_t>(1, kLeastResults / rows.results);
    std::optional<int64_t> best;
    for (int64_t chunk = std::min(most, *all); chunk >= least; --chunk) {
      const auto longest = [&](int64_t size) { return (*all / size + cores - 1) / cores * size; };
      if (*all % chunk == 0 && (!best || longest(chunk) < longest(*best)))
        best = chunk;
    }
    return best;
  }

  std::optional<WindowChunks> chunks_for(StmtId reader, const ResidentRows& rows) const {
    WindowChunks chunks{{}, {}, reader, temps_made_for(schedule_, flow_, reader, rows.temp), true};
    const auto chunk = rows_of_chunk(rows);
    if (chunks.temps.empty() || !chunk ||
        weight_bytes(reader, chunks.temps) > environment_.cpu.caches.l2 / 2)
      return std::nullopt;
    add_chunks(chunks, rows, *chunk);
    return chunks.plan.empty() ? std::nullopt : std::optional(std::move(chunks));
  }

  LoopName loop(StmtId id, size_t depth, const char* suffix) const {
    const LoopId at = poly::path_of(schedule_.order, id)[depth];
    return {text(id).name, schedule_.order[at].name + suffix};
  }

  /// No row is needed by two chunks, so all nests are cut alike and run in one loop over chunks,
  /// with room for the temps of one.
  void add_chunks(WindowChunks& chunks, const ResidentRows& rows, int64_t size) const {
    std::set<LoopId> nests;
    std::vector<LoopName> cuts;
    for (const StmtId id : ids_) {
      const bool makes = is_made(id, chunks.temps);
      if ((!makes && text(id).tensor != text(chunks.reader).tensor) ||
          !nests.insert(poly::path_of(schedule_.order, id).front()).second)
        continue;
      const auto depth = depth_of(id, makes ? rows.temp_dim : rows.result_dim);
      if (!depth)
        return chunks.plan.clear();
      chunks.plan.emplace_back(Split{loop(id, *depth, ""), size});
      cuts.push_back(loop(id, *depth, ".0"));
      Reorder order{{cuts.back()}};
      for (size_t d = 0; d < *depth; ++d)
        order.loops.push_back(loop(id, d, ""));
      if (*depth > 0)
        chunks.plan.emplace_back(std::move(order));
    }
    for (size_t k = 1; k < cuts.size(); ++k)
      chunks.plan.emplace_back(Fuse{cuts.front(), cuts[k]});
    for (const uint32_t temp : chunks.temps)
      chunks.plan.emplace_back(StoreAt{tensor(temp).name, cuts.front()});
  }

  /// Of a statement's loops, the one that walks along a dimension of what it writes.
  std::optional<size_t> depth_of(StmtId id, size_t dim) const {
    const std::vector<Expr>& index = text(id).index;
    const std::vector<Expr>& rows = schedule_.order.rows[id.value];
    if (dim >= index.size() || scalar::as<scalar::Iter>(index[dim]) == nullptr)
      return std::nullopt;
    const auto at = std::find_if(rows.begin(), rows.end(),
                                 [&](const Expr& row) { return scalar::equal(row, index[dim]); });
    return at == rows.end() ? std::nullopt : std::optional(static_cast<size_t>(at - rows.begin()));
  }

  const Schedule& schedule_;
  const Environment& environment_;
  std::vector<StmtId> ids_;
  const Dataflow flow_;
};

} // namespace

std::optional<WindowChunks> resident_products(const Schedule& schedule,
                                              const Environment& environment) {
  if (environment.gpu)
    return std::nullopt;
  return ResidentFinder(schedule, environment).first();
}

} // namespace kawara::schedule
