#include "emit/cuda/async_ops.h"

#include "kernel/walk.h"
#include "program/interpret/instruction.h"
#include "support/text.h"

#include <algorithm>

namespace kawara::emit {
namespace {

using kernel::ElementAt;
using scalar::Expr;
using Lines = std::vector<std::string>;

constexpr int64_t kBytesOfBarrier = 8;
/// Descriptors count in pieces of 16 bytes. A step along the reduction is 32 bytes of a row, or 16
/// rows of 128.
constexpr int64_t kStepInRow = 2, kStepOverRows = 128;

std::string wgmma_name(const std::string& instruction) {
  std::string name = "kw_" + instruction;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

} // namespace

std::string name_of_map(const CNames& names, const CudaMap& map, size_t number) {
  return "kw_map_" + std::to_string(number) + "_" + names.buffers[map.buffer];
}

std::string AsyncWriter::slot(const kernel::MbarrierSlot& at) {
  return "kw_" + launch_.mbarriers[at.row].name + " + 8 * (" + expr_(at.slot) + ")";
}

std::string AsyncWriter::map_of(CudaMap map) {
  size_t number = 0;
  while (number < out_.maps.size() && !(out_.maps[number] == map))
    ++number;
  if (number == out_.maps.size())
    out_.maps.push_back(map);
  return "&" + name_of_map(expr_.names(), map, number);
}

/// Coordinates, innermost first.
std::string AsyncWriter::place_in(const ElementAt& at) {
  Lines parts;
  for (size_t d = at.index.size(); d-- > 0;)
    parts.push_back("(int)(" + expr_(at.index[d]) + ")");
  return join(parts, ", ");
}

/// Of the first element of a box, which swizzling leaves in its place.
std::string AsyncWriter::address(const ElementAt& at) {
  return "kw_address(&" + expr_.plain_element(at.buffer, at.index) + ")";
}

Lines AsyncWriter::lines(const kernel::AsyncOp& async_op) {
  expr_.need("async");
  return std::visit([&](const auto& order) { return one(order); }, async_op.what);
}

Lines AsyncWriter::one(const kernel::BulkLoad& s) {
  const std::string map = map_of({s.from.buffer, s.box, s.walk});
  std::string name = "kw_bulk_load", tap;
  if (s.walk) {
    expr_.need("bulk_walk");
    name = "kw_bulk_load_window";
    if (s.from.index.size() == 3) // one image
      tap += ", 0";
    for (const size_t d : {1, 0})
      tap += ", (unsigned short)(" + expr_(s.tap[d]) + ")";
  } else
    expr_.need((s.is_multicast ? "multicast_" : "bulk_") + std::to_string(s.box.size()));
  if (s.is_multicast)
    name = "kw_multicast_load<" + std::to_string((1 << launch_.cluster) - 1) + ">";
  return {name + "(" + address(s.to) + ", " + map + ", " + slot(s.done) + ", " + place_in(s.from) +
          tap + ");"};
}

Lines AsyncWriter::one(const kernel::BulkStore& s) {
  expr_.need("bulk_" + std::to_string(s.box.size()));
  return {"kw_bulk_store(" + map_of({s.to.buffer, s.box}) + ", " + address(s.from) + ", " +
          place_in(s.to) + ");"};
}

Lines AsyncWriter::one(const kernel::AwaitBulkStores& s) {
  return {"asm volatile(\"cp.async.bulk.wait_group.read " + std::to_string(s.pending) +
          ";\" ::: \"memory\");"};
}

Lines AsyncWriter::one(const kernel::Arrive& s) {
  if (s.block) {
    expr_.need("cluster");
    return {"kw_arrive_at(" + slot(s.at) + ", " + expr_(*s.block) + ");"};
  }
  if (s.bytes == 0)
    return {"kw_arrive(" + slot(s.at) + ");"};
  return {"kw_arrive_expecting(" + slot(s.at) + ", " + std::to_string(s.bytes) + ");"};
}

Lines AsyncWriter::one(const kernel::AwaitPhase& s) {
  return {"kw_await_phase(" + slot(s.at) + ", " + expr_(s.parity) + ");"};
}

Lines AsyncWriter::one(const kernel::Mma& s) {
  expr_.need(s.instruction + (s.is_a_private ? ".private" : ""));
  const auto flag = [](bool is_set) { return std::string(is_set ? "1" : "0"); };
  const auto step = [](bool is_transposed, int64_t n) {
    return std::to_string(n * (is_transposed ? kStepOverRows : kStepInRow));
  };
  Lines lines = {"{"};
  if (!s.is_a_private)
    lines.push_back("  const unsigned long long kw_a = kw_operand<" + flag(s.is_a_transposed) +
                    ">(" + address(s.a) + ");");
  lines.push_back("  const unsigned long long kw_b = kw_operand<" + flag(s.is_b_transposed) + ">(" +
                  address(s.b) + ");");
  lines.emplace_back("  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");");
  for (int64_t n = 0; n < s.steps; ++n) {
    const std::string adds = flag(!s.starts_at_zero || n > 0);
    const std::string flags = (s.is_a_private ? "" : flag(s.is_a_transposed) + ", ") +
                              flag(s.is_b_transposed) + ", " + adds;
    lines.push_back("  " + wgmma_name(s.instruction) + "<" + flags + ">(" +
                    expr_.names().buffers[s.c] + ", " +
                    (s.is_a_private ? registers_of(s, n) : "kw_a + " + step(s.is_a_transposed, n)) +
                    ", kw_b + " + step(s.is_b_transposed, n) + ");");
  }
  lines.emplace_back("  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");");
  lines.emplace_back("}");
  return lines;
}

/// Four registers with the elements of one step: `p[8], p[9], p[10], p[11]`
std::string AsyncWriter::registers_of(const kernel::Mma& s, int64_t step) const {
  constexpr int64_t kRegisters = 4;
  const int64_t first = *scalar::constant_of(s.a.index[0]) / 2 + step * kRegisters;
  Lines parts;
  for (int64_t n = first; n < first + kRegisters; ++n)
    parts.push_back(expr_.names().buffers[s.a.buffer] + "[" + std::to_string(n) + "]");
  return join(parts, ", ");
}

Lines AsyncWriter::one(const kernel::AwaitMma& s) {
  Lines lines = {"asm volatile(\"wgmma.wait_group.sync.aligned " + std::to_string(s.pending) +
                 ";\" ::: \"memory\");"};
  // Results are read after the wait, not before; operands keep their registers until then.
  std::vector<uint32_t> settled = s.settled;
  if (settled.empty() && s.pending == 0)
    for (uint32_t b = 0; b < kernel_.buffers.size(); ++b)
      if (is_fragment(b))
        settled.push_back(b);
  for (const uint32_t b : settled)
    lines.push_back("kw_settle(" + expr_.names().buffers[b] + ");");
  return lines;
}

Lines AsyncWriter::one(const kernel::GroupBarrier&) {
  return {"kw_group_barrier(1 + threadIdx.z / 4);"};
}

Lines AsyncWriter::one(const kernel::SetRegisters& s) {
  return {std::string("asm volatile(\"setmaxnreg.") + (s.is_more ? "inc" : "dec") +
          ".sync.aligned.u32 " + std::to_string(s.count) + ";\");"};
}

bool AsyncWriter::is_fragment(uint32_t buffer) const {
  const bool is_result = kernel::has(launch_.body, [&](const kernel::AsyncOp& async_op) {
    const auto* mma = std::get_if<kernel::Mma>(&async_op.what);
    return mma != nullptr && mma->c == buffer;
  });
  return is_result || is_packed(buffer);
}

bool AsyncWriter::is_packed(uint32_t buffer) const {
  return kernel::has(launch_.body, [&](const kernel::AsyncOp& async_op) {
    const auto* mma = std::get_if<kernel::Mma>(&async_op.what);
    return mma != nullptr && mma->is_a_private && mma->a.buffer == buffer;
  });
}

int64_t AsyncWriter::bytes_of_barriers() const {
  int64_t bytes = 0;
  for (const kernel::Mbarriers& row : launch_.mbarriers)
    bytes += row.slots * kBytesOfBarrier;
  return bytes;
}

std::string AsyncWriter::of_cluster() const {
  return launch_.cluster == 1 ? ""
                              : "__cluster_dims__(" + std::to_string(launch_.cluster) + ", 1, 1) ";
}

Lines AsyncWriter::barriers(int64_t offset) {
  Lines names, begin;
  for (const kernel::Mbarriers& row : launch_.mbarriers) {
    const std::string name = "kw_" + row.name;
    names.push_back("const unsigned " + name + " = kw_address(kw_shared + " +
                    std::to_string(offset) + ");");
    begin.push_back("  for (int n = 0; n < " + std::to_string(row.slots) + "; ++n)");
    begin.push_back("    kw_begin_barrier(" + name + " + 8 * n, " + std::to_string(row.arrivals) +
                    ");");
    offset += row.slots * kBytesOfBarrier;
  }
  if (names.empty())
    return {};
  expr_.need("async");
  names.emplace_back("if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {");
  names.insert(names.end(), begin.begin(), begin.end());
  names.emplace_back("  asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");");
  names.emplace_back("}");
  if (launch_.cluster > 1)
    expr_.need("cluster");
  // No block reaches a barrier of another before that one has begun it.
  names.emplace_back(launch_.cluster > 1 ? "kw_meet_cluster();" : "__syncthreads();");
  return names;
}

} // namespace kawara::emit
