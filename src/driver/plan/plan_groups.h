#pragma once

#include "driver/plan/plan.h"
#include "program/program.h"

namespace kawara::driver {

/// A node that is a program.
struct KernelDraft {
  size_t node;
  std::string text;
  program::Program program; ///< of the text
  std::vector<ValueId> operands, results;
  bool is_join = false; ///< only puts its operands one after the other
};

/// What a plan has to do, not yet in steps: a call, if there is one, comes last.
struct Drafts {
  std::vector<KernelDraft> kernels;
  std::vector<ViewStep> views;
  std::optional<CallStep> call;
};

/// Brings the drafts together in groups and makes the plan's steps of them, kernels still without
/// code.
void group_steps(const graph::Graph&, Plan&, const Drafts&, const PlanOptions&);

} // namespace kawara::driver
