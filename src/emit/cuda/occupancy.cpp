#include "emit/cuda/occupancy.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace kawara::emit {
namespace {

constexpr double kRegisters = 65536; ///< of a multiprocessor
/// Of a thread, at least, and for each element that it keeps over a loop.
constexpr double kRegistersOfThread = 128, kRegistersOfElement = 1.6, kMostRegisters = 255;
/// Of a thread that loads these bytes at most, computes and stores: elements of 16 bits, and
/// others.
constexpr double kRegistersOfShortMap = 40, kRegistersOfMap = 64;
constexpr int64_t kBytesOfMap = 128;
/// Of a thread that looks gelu up for what is half of that: while some look, all others have their
/// loads under way.
constexpr double kRegistersOfLooks = 32;
constexpr int64_t kMostBlocks = 16;
/// Elements that a thread keeps beside which other registers count little, and those other
/// registers.
constexpr int64_t kManyHeld = 40, kRegistersBesides = 24;

/// Elements that variables hold from one iteration of a loop to the next.
int64_t kept_elements(const kernel::Kernel& kernel, const kernel::Block& body) {
  std::set<uint32_t> kept, local;
  kernel::visit(body, [&](const kernel::For& loop) {
    kernel::visit(loop.body, [&](const kernel::Assign& assign) { kept.insert(assign.var); });
    kernel::visit(loop.body, [&](const kernel::Define& define) { local.insert(define.var); });
    return kernel::WalkResult::Skip;
  });
  int64_t elements = 0;
  for (const uint32_t var : kept)
    if (!local.contains(var) && scalar::is_float(kernel.variables[var].type.elem))
      elements += kernel.variables[var].type.lanes;
  return elements;
}

/// Elements in variables and buffers of a thread where nothing is repeated: a row that it keeps.
int64_t held_elements(const kernel::Kernel& kernel, const kernel::Block& body) {
  if (kernel::has<kernel::For>(body))
    return 0;
  std::set<uint32_t> held;
  int64_t elements = 0;
  kernel::visit(body, [&](const kernel::Assign& assign) { held.insert(assign.var); });
  kernel::visit(body, [&](const kernel::Allocate& own) {
    if (kernel.buffers[own.buffer].scope != kernel::Scope::Private)
      return;
    int64_t count = 1;
    for (const scalar::Expr& extent : kernel.buffers[own.buffer].shape)
      count *= scalar::constant_of(extent).value_or(0);
    elements += count;
  });
  for (const uint32_t var : held)
    if (scalar::is_float(kernel.variables[var].type.elem))
      elements += kernel.variables[var].type.lanes;
  return elements;
}

/// What the expressions of a body load, each as often as it is written; of two branches the one
/// that loads more.
int64_t bytes_loaded(const kernel::Kernel& kernel, const kernel::Block& body) {
  int64_t bytes = 0;
  for (const kernel::Stmt& stmt : body) {
    if (const auto* branch = std::get_if<kernel::If>(&stmt)) {
      bytes +=
          std::max(bytes_loaded(kernel, branch->then), bytes_loaded(kernel, branch->otherwise));
      continue;
    }
    kernel::visit_loads(stmt, [&](const scalar::Load& load, const scalar::Expr& e) {
      bytes += e.type().lanes * scalar::bytes_of(kernel.buffers[load.tensor].elem);
    });
  }
  return bytes;
}

/// Loads, arithmetic and stores, of not too many elements.
bool is_small_map(const kernel::Kernel& kernel, const kernel::Block& body) {
  return kernel::has_only<kernel::Store, kernel::Define, kernel::If>(body) &&
         bytes_loaded(kernel, body) <= kBytesOfMap;
}

} // namespace

bool is_map(const kernel::Block& body) {
  bool is_plain =
      kernel::has_only<kernel::If, kernel::Store>(body) &&
      !kernel::has(body, [](const kernel::Store& s) { return s.op != scalar::ReduceOp::None; });
  const std::set<uint32_t> stored = kernel::buffers_stored_in(body);
  kernel::visit_loads(body, [&](const scalar::Load& load) {
    is_plain = is_plain && !stored.contains(load.tensor);
  });
  return is_plain;
}

int64_t blocks_in_flight(const kernel::Kernel& kernel, const kernel::Block& body,
                         const std::vector<uint32_t>& buffers, int64_t threads, bool has_tails) {
  const int64_t kept = kept_elements(kernel, body);
  // A row of which a thread keeps many elements takes a register for each.
  if (const int64_t held = held_elements(kernel, body); held > kManyHeld)
    return std::clamp<int64_t>(
        static_cast<int64_t>(kRegisters) / ((held + kRegistersBesides) * threads), 1, kMostBlocks);
  const bool is_short = std::all_of(buffers.begin(), buffers.end(), [&](uint32_t b) {
    return scalar::bytes_of(kernel.buffers[b].elem) <= 2;
  });
  // Two blocks of 256 threads: while one waits, the other computes. Threads that only pass elements
  // of 16 bits on have half as many bytes under way as others: twice as many of them. Threads of
  // maps load once and end: more still.
  const bool only_looks = has_tails && bytes_loaded(kernel, body) <= kBytesOfMap / 2;
  const double of_map = is_short     ? kRegistersOfShortMap
                        : only_looks ? kRegistersOfLooks
                                     : kRegistersOfMap;
  const double registers = is_small_map(kernel, body) ? of_map
                           : kept == 0 && is_short
                               ? kRegistersOfThread / 2
                               : std::clamp(kRegistersOfElement * static_cast<double>(kept),
                                            kRegistersOfThread, kMostRegisters);
  const auto fitting = std::llround(kRegisters / (registers * static_cast<double>(threads)));
  return std::clamp<int64_t>(fitting, 1, kMostBlocks);
}

bool copies_ahead(const kernel::Block& body) { return kernel::has<kernel::Commit>(body); }

} // namespace kawara::emit
