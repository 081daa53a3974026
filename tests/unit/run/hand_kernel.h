#pragma once

#include "kernel/kernel.h"
#include "run/cpu/executable.h"

#include <gtest/gtest.h>

#include <vector>

namespace kawara::run {

using scalar::Elem;
using scalar::Expr;
using scalar::int_lit;
using scalar::Type;

/// Writes a kernel statement by statement, for tests.
struct HandKernel {
  kernel::Kernel kernel;

  HandKernel() { kernel.name = "hand"; }

  Expr param(const std::string& name) {
    kernel.params.push_back({name, {}});
    return scalar::param(static_cast<uint32_t>(kernel.params.size() - 1));
  }
  uint32_t buffer(const std::string& name, Elem elem, std::vector<Expr> shape,
                  kernel::Scope scope = kernel::Scope::Argument) {
    kernel.buffers.push_back({name, elem, std::move(shape), scope, program::Role::Inout});
    return static_cast<uint32_t>(kernel.buffers.size() - 1);
  }
  uint32_t variable(const std::string& name, Type type = scalar::kIndex) {
    kernel.variables.push_back({name, type});
    return static_cast<uint32_t>(kernel.variables.size() - 1);
  }
  Expr var(uint32_t id) const { return scalar::var(id, kernel.variables[id].type); }
  Expr load(uint32_t buffer, std::vector<Expr> index) const {
    uint16_t lanes = 1;
    for (const Expr& e : index)
      lanes = std::max(lanes, e.type().lanes);
    return scalar::load(buffer, std::move(index), {kernel.buffers[buffer].elem, lanes});
  }
};

inline kernel::For loop(uint32_t var, Expr lo, Expr hi, kernel::Block body, int64_t step = 1) {
  kernel::For f;
  f.var = var;
  f.lo = std::move(lo);
  f.hi = std::move(hi);
  f.step = step;
  f.body = std::move(body);
  return f;
}

inline kernel::For parallel_loop(uint32_t var, Expr lo, Expr hi, kernel::Block body,
                                 int64_t step = 1) {
  kernel::For f = loop(var, std::move(lo), std::move(hi), std::move(body), step);
  f.marks.is_parallel = true;
  return f;
}

inline kernel::Store store(uint32_t buffer, std::vector<Expr> index, Expr value,
                           scalar::ReduceOp op = scalar::ReduceOp::None) {
  return {buffer, std::move(index), op, std::move(value)};
}

inline Executable loaded(const kernel::Kernel& kernel, std::shared_ptr<ThreadPool> pool = nullptr) {
  auto executable = load(emit::module_from_kernel(kernel), {std::move(pool)});
  if (!executable)
    throw std::runtime_error(render(executable.error()));
  return *std::move(executable);
}

inline void call(const Executable& executable, const std::vector<void*>& arguments,
                 const std::vector<int64_t>& params = {}) {
  const auto done = executable.call(arguments, params);
  ASSERT_TRUE(done) << render(done.error());
}

} // namespace kawara::run
