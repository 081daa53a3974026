#pragma once

#include "driver/plan/plan.h"
#include "driver/tape/result_memory.h"

#include <functional>

namespace kawara::driver {

/// Runs one graph; the subgraphs of its nodes by runners of their own. Keeps its plans, by the
/// shapes (and values) that they depend on.
class Runner {
public:
  Runner(const graph::Graph& graph, Kernels& kernels, const PlanOptions& options)
      : graph_(graph), kernels_(kernels), options_(options) {}

  /// Results for the graph's inputs and captured values, in their order.
  Result<std::vector<Datum>, Diagnostic> run(std::vector<Datum> inputs,
                                             std::vector<Datum> captured);
  /// The plans for these inputs, made without code where no values must be known for them;
  /// otherwise the inputs are run. All of them are among `plans` then.
  Result<Done, Diagnostic> plan(const std::vector<Datum>& inputs, bool in_place = true);
  /// What the last `plan` made, in the order in which it would run; valid until the next call.
  std::vector<const Plan*> planned() const;
  int64_t block_bytes() const; ///< largest block of a plan
  /// Called before a plan is made once constants were given back, to read them again.
  void restore_with(std::function<Result<Done, Diagnostic>()> f) { restore_ = std::move(f); }
  /// Gives memory between steps back until the next run.
  void release_block();
  ResultMemory& result_memory() { return results_; }
  /// The plans that the last run went through, in order; valid until the next run.
  const std::vector<const Plan*>& path() const { return path_; }
  /// The plans made so far, each after those that it continues.
  std::vector<const Plan*> plans() const;

  /// How long a step took.
  struct StepTime {
    const Plan* plan;
    size_t step;
    double seconds;
  };
  /// Steps of the following runs are timed and added here; null ends that.
  void time_steps(std::vector<StepTime>* times) { times_ = times; }

private:
  std::vector<const Plan*> siblings(size_t begin) const;
  Result<std::unique_ptr<Plan>, Diagnostic> make(size_t begin, std::vector<Info> infos);
  std::vector<Info> first_infos(const std::vector<Datum>& data) const;
  std::vector<Info> next_infos(const Plan& plan, const std::vector<Datum>& data) const;
  bool is_draft(const Plan* plan) const;
  Result<Done, Diagnostic> run(Plan& plan, std::vector<Datum>& data);
  Result<Done, Diagnostic> run_step(Plan& plan, const Step& step, std::vector<Datum>& data);
  Result<Done, Diagnostic> run(Plan& plan, const KernelStep& step, std::vector<Datum>& data);
  Tensor memory_of(const Plan& plan, ValueId id);
  Result<Done, Diagnostic> call(const graph::Node& node, std::vector<Datum>& data);
  std::vector<Datum> results(const Plan& plan, const std::vector<Datum>& data) const;
  bool is_given(const Tensor& tensor, const std::vector<Datum>& data) const;

  const graph::Graph& graph_;
  Kernels& kernels_;
  PlanOptions options_;
  std::map<std::string, std::unique_ptr<Plan>> plans_;
  std::vector<std::unique_ptr<Plan>> drafted_; ///< without code, each goes on after the one before
  std::shared_ptr<std::byte> block_;           ///< for the plan that runs
  int64_t block_bytes_ = 0;
  ResultMemory results_;
  std::vector<StepTime>* times_ = nullptr;
  std::map<const graph::Graph*, std::unique_ptr<Runner>> inner_;
  std::vector<const Plan*> path_;
  std::function<Result<Done, Diagnostic>()> restore_;
  size_t given_back_until_ = 0; ///< only nodes before this one read constants that are gone
};

} // namespace kawara::driver
