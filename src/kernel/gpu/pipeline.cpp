#include "kernel/gpu/pipeline.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <optional>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// The parts of a loop body that fits the pattern.
struct Parts {
  std::vector<uint32_t> buffers; ///< staged, outermost first
  Block copies, rest;
};

class Pipeliner {
public:
  explicit Pipeliner(Kernel& kernel) : kernel_(kernel), written_(buffers_stored_in(kernel.body)) {}

  Block one(For loop) {
    const int64_t stages = std::exchange(loop.marks.stages, 0);
    auto parts = stages > 1 ? parts_of(loop) : std::nullopt;
    if (!parts)
      return block_of(std::move(loop));
    for (const uint32_t buffer : parts->buffers)
      kernel_.buffers[buffer].shape.insert(kernel_.buffers[buffer].shape.begin(), int_lit(stages));
    Block result;
    for (int64_t s = 0; s + 1 < stages; ++s) {
      const Expr at = scalar::simplify(loop.lo + int_lit(s * loop.step));
      add_copy(*parts, loop, at, int_lit(s), result);
    }
    const std::string name = kernel_.variables[loop.var].name;
    const uint32_t now = add_variable(kernel_, name + "_stage", scalar::kIndex);
    const uint32_t later = add_variable(kernel_, name + "_next", scalar::kIndex);
    const Expr k = scalar::var(loop.var);
    const Expr turn = scalar::simplify(
        binary(BinaryOp::FloorDiv, scalar::simplify(k - loop.lo), int_lit(loop.step)));
    const auto stage_of = [&](int64_t ahead) {
      return scalar::simplify(binary(BinaryOp::Mod, turn + int_lit(ahead), int_lit(stages)));
    };
    Block body;
    body.emplace_back(Define{now, stage_of(0)});
    body.emplace_back(Define{later, stage_of(stages - 1)});
    body.emplace_back(Await{stages - 2});
    body.emplace_back(Barrier{});
    add_copy(*parts, loop, scalar::simplify(k + int_lit((stages - 1) * loop.step)),
             scalar::var(later), body);
    for (Stmt& stmt : at_stage(parts->rest, parts->buffers, scalar::var(now)))
      body.push_back(std::move(stmt));
    loop.body = std::move(body);
    result.emplace_back(std::move(loop));
    for (size_t b = parts->buffers.size(); b-- > 0;)
      result = block_of(Allocate{parts->buffers[b], std::move(result)});
    return result;
  }

private:
  std::optional<Parts> parts_of(const For& loop) const {
    Parts parts;
    const Block* body = &loop.body;
    while (body->size() == 1) {
      const auto* allocate = std::get_if<Allocate>(&body->front());
      if (allocate == nullptr || kernel_.buffers[allocate->buffer].scope != Scope::Shared)
        break;
      parts.buffers.push_back(allocate->buffer);
      body = &allocate->body;
    }
    size_t at = 0;
    const auto is_barrier = [&] {
      return at < body->size() && std::get_if<Barrier>(&(*body)[at]) != nullptr;
    };
    while (is_barrier())
      ++at;
    while (at < body->size() && is_copy((*body)[at], parts.buffers))
      parts.copies.push_back((*body)[at++]);
    if (parts.copies.empty() || !is_barrier())
      return std::nullopt;
    parts.rest.assign(body->begin() + static_cast<std::ptrdiff_t>(at) + 1, body->end());
    for (const uint32_t stored : buffers_stored_in(parts.rest))
      if (std::find(parts.buffers.begin(), parts.buffers.end(), stored) != parts.buffers.end())
        return std::nullopt;
    return parts;
  }

  bool is_copy(const Stmt& stmt, const std::vector<uint32_t>& buffers) const {
    bool is_fine = has_only<Store, For, If>(stmt) && has<Store>(stmt);
    visit(stmt, [&](const Store& store) {
      is_fine = is_fine && store.op == ReduceOp::None && is_staged(store.buffer, buffers);
    });
    visit_loads(stmt, [&](const scalar::Load& load) {
      is_fine = is_fine && !written_.contains(load.tensor);
    });
    return is_fine;
  }

  static bool is_staged(uint32_t buffer, const std::vector<uint32_t>& buffers) {
    return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
  }

  /// Starts the copies of iteration `at` into `stage`, if there is one.
  void add_copy(const Parts& parts, const For& loop, const Expr& at, const Expr& stage,
                Block& out) {
    Block copies = substitute_var(parts.copies, loop.var, at);
    copies = at_stage(std::move(copies), parts.buffers, stage);
    visit(copies, [](Store& store) { store.is_async = true; });
    const Expr runs = scalar::simplify(binary(BinaryOp::Lt, at, loop.hi));
    if (scalar::constant_of(runs).value_or(0) != 0)
      out.insert(out.end(), copies.begin(), copies.end());
    else
      out.emplace_back(If{runs, std::move(copies), {}});
    out.emplace_back(Commit{});
  }

  static Block at_stage(Block block, const std::vector<uint32_t>& buffers, const Expr& stage) {
    return map_accesses(std::move(block), [&](const uint32_t& buffer, std::vector<Expr>& index) {
      if (!is_staged(buffer, buffers))
        return false;
      index.insert(index.begin(), stage);
      return true;
    });
  }

  Kernel& kernel_;
  std::set<uint32_t> written_;
};

} // namespace

Kernel pipeline(Kernel kernel) {
  Pipeliner pipeliner(kernel);
  const Block body = kernel.body;
  kernel.body = rewrite(body, [&](For loop) { return pipeliner.one(std::move(loop)); });
  return kernel;
}

} // namespace kawara::kernel
