#include "kernel/gpu/launches.h"

#include "kernel/gpu/privatize.h"
#include "kernel/gpu/thread_phases.h"
#include "kernel/gpu/thread_private.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using poly::Axis;
using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr std::array kPositionNames = {"x", "y", "z"};
/// Of a block: what `bind` allows a nest (schedule/marks/bind.h).
constexpr int64_t kMostThreads = 1024;

bool has_block_loop(const Stmt& stmt) {
  return has(stmt, [](const For& loop) { return poly::is_block(loop.marks.axis); });
}

/// Iterations of a loop, as an expression.
Expr iterations_of(const For& loop) {
  const Expr distance = scalar::simplify(loop.hi - loop.lo + int_lit(loop.step - 1));
  return scalar::simplify(binary(BinaryOp::FloorDiv, distance, int_lit(loop.step)));
}

class Host {
public:
  explicit Host(Kernel& kernel) : kernel_(kernel) {
    for (size_t a = 0; a < 3; ++a) {
      const std::string name = kPositionNames[a];
      block_vars_[a] = add_variable(kernel, "block_" + name, scalar::kIndex);
      thread_vars_[a] = add_variable(kernel, "thread_" + name, scalar::kIndex);
    }
  }

  Block block(const Block& statements) {
    Block result, plain;
    const auto flush = [&] {
      if (!plain.empty())
        result.emplace_back(launch(std::exchange(plain, {})));
    };
    for (const Stmt& stmt : statements) {
      const auto* loop = std::get_if<For>(&stmt);
      if (loop != nullptr && poly::is_block(loop->marks.axis)) {
        flush();
        result.emplace_back(launch(block_of(stmt)));
      } else if (has_block_loop(stmt)) {
        flush();
        result.push_back(with_nested_blocks(stmt, [&](const Block& b) { return block(b); }));
      } else if (std::get_if<Zero>(&stmt) != nullptr || std::get_if<Comment>(&stmt) != nullptr) {
        flush();
        result.push_back(stmt);
      } else {
        // Nests side by side share the threads of a launch, those of each axis: together they may
        // be too many.
        Block longer = plain;
        longer.push_back(stmt);
        if (count_of(threads_of(longer)) > kMostThreads && !has_definition(plain))
          flush();
        plain.push_back(stmt);
      }
    }
    flush();
    return result;
  }

private:
  Launch launch(Block body) {
    Launch result;
    result.name = kernel_.name + "_" + std::to_string(count_++);
    result.blocks.fill(int_lit(1));
    result.block_vars = block_vars_;
    result.thread_vars = thread_vars_;
    std::array<bool, 3> is_used = {};
    while (body.size() == 1) {
      const auto* loop = std::get_if<For>(&body[0]);
      if (loop == nullptr || !poly::is_block(loop->marks.axis))
        break;
      const size_t a = poly::position_of(loop->marks.axis);
      const Expr blocks = iterations_of(*loop);
      const VarSet own(block_vars_.begin(), block_vars_.end());
      if (is_used[a] || mentions_any(blocks, own) || has_load(blocks))
        break;
      is_used[a] = true;
      result.blocks[a] = blocks;
      const Expr value =
          scalar::simplify(loop->lo + scalar::var(block_vars_[a]) * int_lit(loop->step));
      body = substitute_var(loop->body, loop->var, value);
    }
    // Within one statement they cannot be launched apart: loops of the last axes run on one thread
    // then.
    for (const Axis axis : {Axis::ThreadZ, Axis::ThreadY})
      if (count_of(threads_of(body)) > kMostThreads)
        body = without_threads(body, axis);
    result.threads = threads_of(body);
    const PhaseNodes phases = privatized(kernel_, result, thread_phases(kernel_, result, body));
    result.body = with_barriers(kernel_, phases, {});
    result.thread_private = thread_private_buffers(kernel_, result);
    result.body = with_barriers(kernel_, phases, result.thread_private);
    return result;
  }

  static int64_t count_of(const std::array<int64_t, 3>& threads) {
    return threads[0] * threads[1] * threads[2];
  }

  static bool has_definition(const Block& block) {
    return std::any_of(block.begin(), block.end(),
                       [](const Stmt& stmt) { return std::holds_alternative<Define>(stmt); });
  }

  static Block without_threads(Block body, Axis axis) {
    visit(body, [&](For& loop) {
      if (loop.marks.axis == axis)
        loop.marks.axis = Axis::None;
    });
    return body;
  }

  static std::array<int64_t, 3> threads_of(const Block& body) {
    std::array<int64_t, 3> threads = {1, 1, 1};
    visit(body, [&](const For& loop) {
      if (!poly::is_thread(loop.marks.axis))
        return;
      int64_t& most = threads[poly::position_of(loop.marks.axis)];
      most = std::max(most, loop.marks.threads);
    });
    return threads;
  }

  Kernel& kernel_;
  std::array<uint32_t, 3> block_vars_ = {}, thread_vars_ = {};
  int count_ = 0;
};

} // namespace

Kernel launches(Kernel kernel) {
  const Block body = kernel.body;
  kernel.body = Host(kernel).block(body);
  return kernel;
}

} // namespace kawara::kernel
