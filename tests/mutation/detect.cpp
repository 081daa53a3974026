#include "mutation/detect.h"

#include "driver/session.h"
#include "kernel/interpret/check_over_field.h"
#include "kernel/interpret/edge_sizes.h"
#include "kernel/interpret/interpret.h"
#include "kernel/memory/window_loads.h"
#include "kernel/walk.h"
#include "mutation/fault.h"
#include "program/interpret/interpret.h"
#include "program/interpret/interpret_over.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kawara::mutation {
namespace {

using kernel::Elements;
using kernel::Kernel;

/// All small sizes of a few parameters, and the edges of tiles; the cheapest first.
std::vector<std::vector<int64_t>> many_sizes(const corpus::Made& made, const Kernel& kernel) {
  std::vector<std::vector<int64_t>> sizes = kernel::edge_sizes(made.program, made.loops);
  for (auto& more : kernel::edge_sizes(made.program, kernel))
    sizes.push_back(std::move(more));
  std::vector<int64_t> diagonal(made.program.params.size());
  for (int64_t n = 2; n < 40 && !diagonal.empty(); n += 1 + n / 8) {
    for (size_t p = 0; p < diagonal.size(); ++p)
      diagonal[p] = std::max<int64_t>(1, n - static_cast<int64_t>(p));
    sizes.push_back(diagonal);
  }
  return sizes;
}

bool is_near(const kernel::Buffer& buffer, scalar::Value got, double wanted) {
  const double number = scalar::is_float(buffer.elem) ? got.f : static_cast<double>(got.i);
  constexpr double kTolerance = 1e-3; // bf16 results, sums in another order
  return (std::isnan(number) && std::isnan(wanted)) || number == wanted ||
         std::abs(number - wanted) <= kTolerance * (1 + std::abs(wanted));
}

/// Nothing where the program itself does not run at these sizes.
std::optional<bool> is_same(const corpus::Made& made, const Kernel& kernel,
                            const std::vector<int64_t>& params, uint64_t seed,
                            std::vector<bool>& ran) {
  auto inputs = program::pattern_inputs(made.program, params, seed);
  if (!inputs)
    return std::nullopt;
  const auto wanted = program::interpret(made.program, params, *inputs);
  if (!wanted)
    return std::nullopt;
  std::vector<Elements> arguments;
  for (const kernel::Buffer& buffer : kernel.buffers) {
    if (buffer.scope != kernel::Scope::Argument)
      continue;
    Elements& elements = arguments.emplace_back();
    if (const auto given = inputs->find(buffer.name); given != inputs->end())
      for (int64_t c = 0; c < given->second.elements(); ++c)
        elements.push_back(given->second.get(c));
  }
  if (!kernel::interpret(kernel, params, arguments,
                         {.seed = seed, .step_limit = 20'000'000, .ran = &ran}))
    return false;
  size_t next = 0;
  for (const kernel::Buffer& buffer : kernel.buffers) {
    if (buffer.scope != kernel::Scope::Argument)
      continue;
    const Elements& elements = arguments[next++];
    const auto result = wanted->find(buffer.name);
    for (int64_t c = 0; result != wanted->end() && c < result->second.elements(); ++c)
      if (!is_near(buffer, elements[static_cast<size_t>(c)], result->second.get_double(c)))
        return false;
  }
  return true;
}

/// How often each statement is in a kernel, by its own text, and whether it ran.
std::map<std::string, std::pair<int, bool>> lines_of(const Kernel& kernel,
                                                     const std::vector<bool>& ran) {
  std::map<std::string, std::pair<int, bool>> lines;
  size_t number = 0;
  kernel::visit(kernel::window_loads(kernel).body, [&](const kernel::Stmt& stmt) {
    auto& [count, has_run] = lines[statement_line(kernel, stmt)];
    ++count;
    has_run = has_run || (number < ran.size() && ran[number]);
    ++number;
  });
  return lines;
}

} // namespace

Verdict verdict_of(const corpus::Made& made, const Kernel& kernel, const Scope& scope,
                   const Validator& validator) {
  Verdict verdict;
  for (const std::string& broken : kernel::spec(kernel))
    verdict.spec = broken;
  if (!verdict.spec.empty())
    return verdict; // what is malformed need not be readable for the others
  if (validator)
    verdict.validator = validator(made, kernel).value_or("");
  const kernel::FieldCheck check = kernel::check_over_field(made.program, kernel, scope.sizes,
                                                            {.seed = scope.seed,
                                                             .instances = scope.instances,
                                                             .instances_for_rest = scope.rest,
                                                             .steps = scope.steps});
  if (check.wrong)
    (check.wrong->find("something else") != std::string::npos ? verdict.field
                                                              : verdict.interpreter) = *check.wrong;
  return verdict;
}

Effect effect_of(const corpus::Made& made, const Kernel& right, const Kernel& faulty,
                 uint64_t instances) {
  std::vector<bool> ran, ran_right;
  uint64_t left = instances;
  for (const std::vector<int64_t>& params : many_sizes(made, right)) {
    if (!program::required_shapes(made.program, params))
      continue;
    const uint64_t count = program::count_instances(made.program, params, left);
    if (count >= left)
      continue;
    left -= count;
    for (const uint64_t seed : {11, 12})
      if (!is_same(made, faulty, params, seed, ran).value_or(true))
        return Effect::Some;
    is_same(made, right, params, 11, ran_right);
  }
  const bool has_one_size = kernel::edge_sizes(made.program, right).size() <= 1;
  if (has_one_size || kernel::print(right) == kernel::print(faulty))
    return Effect::None; // at the only size there is, or no difference at all
  const std::map<std::string, std::pair<int, bool>> one = lines_of(right, ran_right),
                                                    other = lines_of(faulty, ran);
  const auto has_run = [](const auto& lines, const auto& others) {
    return std::any_of(lines.begin(), lines.end(), [&](const auto& line) {
      const auto same = others.find(line.first);
      return line.second.second &&
             (same == others.end() || same->second.first != line.second.first);
    });
  };
  return has_run(one, other) || has_run(other, one) ? Effect::None : Effect::Unreached;
}

} // namespace kawara::mutation
