#include "schedule/auto/facts/function_latency.h"

#include "scalar/expand/expansion.h"
#include "schedule/auto/facts/dataflow.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

using scalar::UnaryOp;

constexpr int64_t kRowsUnderWay = 32;

bool is_maximum(const Schedule& schedule, uint32_t tensor) {
  const Dataflow flow(schedule.scop);
  const std::vector<poly::StmtId>& writers = flow[tensor].writers;
  return std::any_of(writers.begin(), writers.end(), [&](poly::StmtId id) {
    return schedule.scop[id].text.op == scalar::ReduceOp::Max;
  });
}

/// exp(a - m), m being a maximum, or what `online` made of it.
bool is_bounded(const Schedule& schedule, const scalar::Expr& e) {
  if (scalar::is_exp_below_zero(e))
    return true;
  const scalar::Load* m = scalar::element_below_exp(e);
  return m != nullptr && is_maximum(schedule, m->tensor);
}

bool has_formula(const scalar::Expr& e) {
  const auto* call = scalar::as<scalar::Unary>(e);
  return call != nullptr && scalar::has_expansion(call->op, scalar::Elem::F32);
}

} // namespace

int64_t vectors_of_functions(const Schedule& schedule, poly::StmtId statement,
                             const target::Cpu& cpu, int64_t lanes) {
  int64_t most = 0, chains = 0;
  scalar::visit(schedule.scop[statement].text.value, [&](const scalar::Expr& e) {
    const auto* call = scalar::as<scalar::Unary>(e);
    if (call == nullptr || !has_formula(e))
      return;
    bool is_first = true; // of those that wait for each other
    scalar::visit(call->arg, [&](const scalar::Expr& inner) { is_first &= !has_formula(inner); });
    chains += is_first;
    int64_t vectors = 4;
    if (call->op == UnaryOp::Gelu)
      vectors = std::max<int64_t>(1, kRowsUnderWay / lanes);
    else if (cpu.arch == target::Arch::Aarch64)
      vectors = is_bounded(schedule, e) ? 8 : 4;
    else if (call->op == UnaryOp::Exp || call->op == UnaryOp::Tanh || call->op == UnaryOp::Sigmoid)
      vectors = 8;
    most = std::max(most, vectors);
  });
  constexpr int64_t kLeast = 2;
  return chains > 1 ? std::max(kLeast, most / chains) : most;
}

bool computes_functions(const Schedule& schedule, const Nest& nest) {
  bool found = false;
  for (const poly::StmtId id : nest.statements)
    scalar::visit(schedule.scop[id].text.value, [&](const scalar::Expr& e) {
      const auto* unary = scalar::as<scalar::Unary>(e);
      found = found || (unary != nullptr && scalar::has_expansion(unary->op, scalar::Elem::F32));
    });
  return found;
}

} // namespace kawara::schedule
