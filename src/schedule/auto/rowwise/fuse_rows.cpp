#include "schedule/auto/rowwise/fuse_rows.h"

#include "scalar/loads.h"
#include "schedule/auto/facts/dataflow.h"
#include "schedule/auto/facts/function_latency.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "target/cpu.h"

#include <algorithm>
#include <map>
#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;

namespace {

/// Fewer planes than this do not keep threads busy.
constexpr int64_t kManyPlanes = 16;
/// Bytes of a row that the hardware does not have in time by itself.
constexpr int64_t kLongRow = 4096;

std::set<uint32_t> tensors_below(const Schedule& schedule, LoopId loop) {
  std::set<uint32_t> tensors;
  for (const StmtId id : poly::statements_below(schedule.order, loop)) {
    tensors.insert(schedule.scop[id].text.tensor);
    scalar::visit(schedule.scop[id].text.value, [&](const scalar::Expr& e) {
      if (const auto* load = scalar::as<scalar::Load>(e))
        tensors.insert(load->tensor);
    });
  }
  return tensors;
}

/// No access would gain from another order of the loops inside.
bool walks_along_memory(const Schedule& schedule, LoopId loop) {
  const size_t depth = *poly::depth_of(schedule.order, loop);
  const std::vector<StmtId> below = poly::statements_below(schedule.order, loop);
  return std::all_of(below.begin(), below.end(), [&](StmtId id) {
    const size_t rows = schedule.order.rows[id.value].size();
    return rows == depth + 1 || strides_at(schedule, {id}, rows - 1).far == 0;
  });
}

/// At most one loop inside.
bool is_flat(const Schedule& schedule, LoopId loop) {
  const size_t depth = *poly::depth_of(schedule.order, loop);
  const std::vector<StmtId> below = poly::statements_below(schedule.order, loop);
  return std::all_of(below.begin(), below.end(),
                     [&](StmtId id) { return schedule.order.rows[id.value].size() <= depth + 2; });
}

/// Elements that one iteration of the loop touches, as bytes; nothing when that depends on
/// parameters.
std::optional<int64_t> row_bytes(const Schedule& schedule, LoopId loop) {
  int64_t bytes = 0;
  for (const StmtId id : poly::statements_below(schedule.order, loop)) {
    int64_t elements = 1;
    const std::vector<LoopId> path = poly::path_of(schedule.order, id);
    for (size_t d = *poly::depth_of(schedule.order, loop) + 1; d < path.size(); ++d) {
      const auto run = known_run(schedule.scop, schedule.order, path[d]);
      if (!run)
        return std::nullopt;
      elements *= *run;
    }
    const size_t accesses = 1 + scalar::loads_in(schedule.scop[id].text.value).size();
    bytes += elements * static_cast<int64_t>(accesses) * 4;
  }
  return bytes;
}

/// An iteration's share of these tensors, as bytes; nothing when that depends on parameters.
std::optional<int64_t> share_of(const Schedule& schedule, LoopId loop,
                                const std::set<uint32_t>& tensors) {
  const auto runs = known_run(schedule.scop, schedule.order, loop);
  if (!runs || *runs < kManyPlanes)
    return std::nullopt;
  int64_t bytes = 0;
  for (const uint32_t t : tensors) {
    const program::Tensor& tensor = schedule.scop.tensors[t];
    int64_t size = scalar::bytes_of(tensor.elem);
    for (const scalar::Expr& extent : tensor.shape) {
      const auto elements = scalar::constant_of(extent);
      if (!elements)
        return std::nullopt;
      size = std::min(size * *elements, int64_t{1} << 40);
    }
    bytes += size / *runs;
  }
  return bytes;
}

/// Does the statement combine columns, row after row?
bool combines_columns(const Schedule& schedule, StmtId id) {
  const size_t rows = schedule.order.rows[id.value].size();
  if (rows <= 2)
    return false;
  const LoopAccess write = access_table(schedule.scop, schedule.order, id).front();
  return write.moves[rows - 1] == Move::Unit && write.stays(rows - 2);
}

/// Planes of any size can follow each other where nests walk along their rows one after the other:
/// no access is in another place than before, and temps are one plane.
bool walk_planes(const Schedule& schedule, LoopId loop, const std::set<uint32_t>& tensors,
                 int64_t cores) {
  const auto runs = known_run(schedule.scop, schedule.order, loop);
  if (!runs || *runs < cores)
    return false;
  const std::vector<LoopId> nests = child_loops(schedule.order.body);
  return std::any_of(nests.begin(), nests.end(), [&](LoopId nest) {
    const std::set<uint32_t> theirs = tensors_below(schedule, nest);
    const std::vector<StmtId> below = poly::statements_below(schedule.order, nest);
    return std::any_of(below.begin(), below.end(),
                       [&](StmtId id) { return combines_columns(schedule, id); }) &&
           std::any_of(tensors.begin(), tensors.end(),
                       [&](uint32_t tensor) { return theirs.contains(tensor); });
  });
}

/// The statements of a loop without loops inside.
std::vector<StmtId> own_statements(const Schedule& schedule, LoopId loop) {
  const poly::TreeNode& node = *poly::find_node(schedule.order, loop);
  const bool is_innermost = std::none_of(node.body.begin(), node.body.end(),
                                         [](const poly::TreeNode& n) { return n.is_loop(); });
  return is_innermost ? poly::statements_below(node) : std::vector<StmtId>();
}

/// An element by the loops of a statement, where each is one of its iterators.
std::vector<scalar::Expr> element_by_loops(const Schedule& schedule, StmtId id,
                                           const std::vector<scalar::Expr>& index) {
  std::vector<scalar::Expr> loops;
  const auto& rows = schedule.order.rows[id.value];
  for (uint32_t row = 0; row < rows.size(); ++row)
    if (const auto* iterator = scalar::as<scalar::Iter>(rows[row])) {
      loops.resize(std::max<size_t>(loops.size(), iterator->index + 1));
      loops[iterator->index] = scalar::var(row);
    }
  if (loops.size() != schedule.scop[id].text.iters.size() ||
      !std::all_of(loops.begin(), loops.end(), [](const scalar::Expr& e) { return bool(e); }))
    return {};
  std::vector<scalar::Expr> element;
  for (const scalar::Expr& at : index)
    element.push_back(scalar::substitute_iters(at, loops));
  return element;
}

/// The one adds up the elements that the other makes, as they are.
bool adds_element_of(const Schedule& schedule, StmtId reader, StmtId maker) {
  const program::Statement& text = schedule.scop[maker].text;
  const auto* load = scalar::as<scalar::Load>(schedule.scop[reader].text.value);
  if (load == nullptr || load->tensor != text.tensor || text.op != scalar::ReduceOp::None)
    return false;
  const std::vector<scalar::Expr> made = element_by_loops(schedule, maker, text.index);
  const std::vector<scalar::Expr> read = element_by_loops(schedule, reader, load->index);
  return !made.empty() &&
         std::equal(made.begin(), made.end(), read.begin(), read.end(), scalar::equal);
}

/// Functions keep a loop busy, so that the end of a sum would be waited for: worth it where the
/// next row comes from memory meanwhile, and no last lanes are left over.
bool is_worth_joining(const Schedule& schedule, StmtId made, LoopId loop,
                      const Environment& environment) {
  const int64_t lanes = target::vector_lanes(
      environment.cpu,
      scalar::bytes_of(schedule.scop.tensors[schedule.scop[made].text.tensor].elem));
  const int64_t vectors = vectors_of_functions(schedule, made, environment.cpu, lanes);
  if (vectors == 0)
    return true;
  const auto run = known_run(schedule.scop, schedule.order, loop);
  const auto around = parent_of(schedule.order, loop);
  return run && *run % (vectors * lanes) == 0 && around &&
         !rows_from_memory(schedule, *around, environment).empty();
}

} // namespace

bool sums_row_of(const Schedule& schedule, LoopId maker, LoopId sum,
                 const Environment& environment) {
  const std::vector<StmtId> made = own_statements(schedule, maker);
  const std::vector<StmtId> sums = own_statements(schedule, sum);
  if (made.empty() || sums.size() != 1 ||
      schedule.scop[sums.front()].text.op != scalar::ReduceOp::Sum)
    return false;
  if (access_table(schedule.scop, schedule.order, sums.front()).front().moves.back() != Move::None)
    return false;
  const auto made_here = std::find_if(made.begin(), made.end(), [&](StmtId id) {
    return adds_element_of(schedule, sums.front(), id);
  });
  return made_here != made.end() && is_worth_joining(schedule, *made_here, maker, environment) &&
         loop_values(schedule.scop, schedule.order, maker)
             .is_equal(loop_values(schedule.scop, schedule.order, sum));
}

bool sums_elements_of(const Schedule& schedule, const Nest& maker, const Nest& sum) {
  if (maker.loops.size() != sum.loops.size() || sum.statements.size() != 1 ||
      schedule.scop[sum.statements.front()].text.op != scalar::ReduceOp::Sum ||
      std::none_of(maker.statements.begin(), maker.statements.end(), [&](StmtId id) {
        return adds_element_of(schedule, sum.statements.front(), id);
      }))
    return false;
  for (size_t k = 0; k < sum.loops.size(); ++k)
    if (!loop_values(schedule.scop, schedule.order, maker.loops[k])
             .is_equal(loop_values(schedule.scop, schedule.order, sum.loops[k])))
      return false;
  return true;
}

bool share_rows(const Schedule& schedule, LoopId first, LoopId second,
                const Environment& environment) {
  const std::set<uint32_t> a = tensors_below(schedule, first), b = tensors_below(schedule, second);
  std::vector<uint32_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  if (both.empty() || !walks_along_memory(schedule, first) || !walks_along_memory(schedule, second))
    return false;
  if (is_flat(schedule, first) && is_flat(schedule, second)) {
    const auto bytes_a = row_bytes(schedule, first), bytes_b = row_bytes(schedule, second);
    if (bytes_a && bytes_b && *bytes_a + *bytes_b > environment.cpu.caches.l2)
      return false;
  } else {
    std::set<uint32_t> all = a;
    all.insert(b.begin(), b.end());
    const auto bytes = share_of(schedule, first, all);
    if ((!bytes || *bytes > environment.cpu.caches.l2 / 2) &&
        !walk_planes(schedule, first, all, environment.cpu.cores))
      return false;
  }
  return loop_values(schedule.scop, schedule.order, first)
      .is_equal(loop_values(schedule.scop, schedule.order, second));
}

std::vector<std::string> rows_from_memory(const Schedule& schedule, LoopId loop,
                                          const Environment& environment) {
  if (!is_flat(schedule, loop))
    return {};
  const size_t depth = *poly::depth_of(schedule.order, loop);
  std::map<uint32_t, int> readers;
  for (const StmtId id : poly::statements_below(schedule.order, loop)) {
    std::set<uint32_t> read;
    for (const LoopAccess& access : access_table(schedule.scop, schedule.order, id))
      if (!access.is_write && !access.stays(depth))
        read.insert(access.tensor);
    for (const uint32_t tensor : read)
      ++readers[tensor];
  }
  std::vector<std::string> names;
  for (const auto& [t, count] : readers) {
    const program::Tensor& tensor = schedule.scop.tensors[t];
    const auto row = share_of(schedule, loop, {t});
    const auto runs = known_run(schedule.scop, schedule.order, loop);
    if (count > 1 && tensor.role != program::Role::Temp && row && *row >= kLongRow &&
        *row * *runs > environment.cpu.caches.l2)
      names.push_back(tensor.name);
  }
  return names;
}

std::vector<std::string> temps_of(const Schedule& schedule, LoopId loop) {
  const std::vector<StmtId> below = poly::statements_below(schedule.order, loop);
  const Dataflow flow(schedule.scop);
  std::vector<std::string> names;
  for (const uint32_t t : tensors_below(schedule, loop)) {
    const program::Tensor& tensor = schedule.scop.tensors[t];
    if (tensor.role == program::Role::Temp && tensor.private_dims == 0 &&
        flow.is_local_to(t, below))
      names.push_back(tensor.name);
  }
  return names;
}

std::vector<Directive> private_temps(const Schedule& schedule, LoopId loop) {
  const poly::TreeNode* node = poly::find_node(schedule.order, loop);
  while (node->body.size() == 1 && node->body.front().is_loop())
    node = &node->body.front();
  std::vector<Directive> stores;
  if (node->body.size() > 1)
    for (const std::string& temp : temps_of(schedule, node->loop()))
      stores.emplace_back(StoreAt{temp, name_of_loop(schedule.scop, schedule.order, node->loop())});
  return stores;
}

} // namespace kawara::schedule
