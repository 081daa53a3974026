#include "oracle/compiled.h"

#include "driver/session.h"
#include "emit/unit.h"
#include "kernel/from_schedule/from_schedule.h"
#include "kernel/interpret/interpret.h"
#include "kernel/passes.h"
#include "oracle/same_result.h"
#include "target/cpu.h"
#include "target/intrinsic.h"

#include <algorithm>

namespace kawara::oracle {

using kernel::Elements;
using kernel::Kernel;

namespace {

std::vector<Elements> arguments_of(const Kernel& kernel, const program::Arrays& inputs) {
  std::vector<Elements> arguments;
  for (const kernel::Buffer& buffer : kernel.buffers) {
    if (buffer.scope != kernel::Scope::Argument)
      continue;
    Elements& elements = arguments.emplace_back();
    if (const auto given = inputs.find(buffer.name); given != inputs.end())
      for (int64_t at = 0; at < given->second.elements(); ++at)
        elements.push_back(given->second.get(at));
  }
  return arguments;
}

program::Arrays results_of(const Kernel& kernel, const std::vector<int64_t>& params,
                           const std::vector<Elements>& arguments) {
  program::Arrays results;
  size_t next = 0;
  for (const kernel::Buffer& buffer : kernel.buffers) {
    if (buffer.scope != kernel::Scope::Argument)
      continue;
    program::Array array(buffer.elem, kernel::extents_of(buffer, params));
    const Elements& elements = arguments[next++];
    for (int64_t at = 0; at < array.elements(); ++at)
      array.set(at, elements[static_cast<size_t>(at)]);
    results.emplace(buffer.name, std::move(array));
  }
  return results;
}

std::optional<std::string> wrong_kernel(const Subject& subject, const Kernel& kernel,
                                        uint64_t seed) {
  for (const std::string& broken : kernel::spec(kernel))
    return "is malformed: " + broken;
  std::vector<Elements> arguments = arguments_of(kernel, subject.inputs);
  const auto done = kernel::interpret(kernel, subject.params, arguments, {.seed = seed});
  if (!done)
    return done.error();
  return difference(results_of(kernel, subject.params, arguments), subject.expected,
                    subject.tolerance);
}

/// Some loop is to run as an instruction that LLVM has for other machines alone.
bool is_for_another_machine(const poly::Order& order) {
  static const target::Cpu here = target::detect_cpu();
  const std::vector<poly::LoopId> loops = poly::loops_in_order(order);
  return std::any_of(loops.begin(), loops.end(), [&](poly::LoopId loop) {
    const target::Intrinsic* data = target::find_intrinsic(order[loop].marks.instruction);
    const bool is_portable = data != nullptr && data->llvm.find("llvm.aarch64.") != 0 &&
                             data->llvm.find("llvm.x86.") != 0;
    return data != nullptr && !is_portable && !target::is_available(*data, here);
  });
}

std::optional<std::string> wrong_machine_code(const Subject& subject, schedule::Schedule schedule,
                                              Kernel kernel) {
  auto executable = run::load(emit::module_from_kernel(kernel));
  if (!executable)
    return render(executable.error());
  const driver::Compiled compiled{{subject.program, subject.program, std::move(schedule), {}},
                                  std::move(kernel),
                                  *std::move(executable)};
  const auto got = driver::call(compiled, subject.params, subject.inputs);
  if (!got)
    return render(got.error());
  return difference(*got, subject.expected, subject.tolerance);
}

} // namespace

std::optional<std::string> wrong_code(const Subject& subject, const schedule::Schedule& schedule,
                                      const schedule::Environment& environment, uint64_t seed) {
  std::optional<std::string> wrong;
  const auto check = [&](std::string_view stage, const Kernel& kernel) {
    if (wrong)
      return;
    wrong = wrong_kernel(subject, kernel, seed);
    if (wrong)
      wrong =
          "the kernel after " + std::string(stage) + ": " + *wrong + "\n" + kernel::print(kernel);
  };
  Kernel loops = kernel::kernel_from_schedule(schedule);
  check("generating loops", loops);
  if (wrong)
    return wrong;
  Kernel kernel = kernel::optimise(std::move(loops), environment.cpu, check);
  if (wrong)
    return wrong;
  if (is_for_another_machine(schedule.order))
    return std::nullopt;
  const std::string listing = kernel::print(kernel);
  wrong = wrong_machine_code(subject, schedule, std::move(kernel));
  return wrong ? "the machine code: " + *wrong + "\n" + listing : wrong;
}

} // namespace kawara::oracle
