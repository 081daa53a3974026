#include "kernel/interpret/check_over_field.h"

#include "kernel/interpret/interpret.h"
#include "kernel/walk.h"
#include "program/interpret/arguments.h"
#include "program/interpret/index_values.h"
#include "program/interpret/interpret_over.h"
#include "scalar/field.h"
#include "support/hash.h"

#include <algorithm>
#include <map>

namespace kawara::kernel {
namespace {

using scalar::BinaryOp;

/// exp(nan_min(0, x)) and exp(nan_max(c, x)) become exp(x): bounds that are proved to change
/// nothing that is seen (bounded_exp.h, unshifted_exp.h), but would not hold in the order of
/// elements.
Kernel without_bounds_of_exp(Kernel kernel) {
  const auto unbounded = [](const Expr& e) {
    const auto* call = scalar::as<scalar::Unary>(e);
    const auto* bound = call != nullptr && call->op == scalar::UnaryOp::Exp
                            ? scalar::as<scalar::Binary>(call->arg)
                            : nullptr;
    if (bound == nullptr || (bound->op != BinaryOp::NanMin && bound->op != BinaryOp::NanMax))
      return Expr();
    const auto is_literal = [](const Expr& side) {
      const auto* all = scalar::as<scalar::Broadcast>(side);
      return scalar::as<scalar::FloatLit>(all != nullptr ? all->arg : side) != nullptr;
    };
    return is_literal(bound->lhs)   ? scalar::unary(call->op, bound->rhs)
           : is_literal(bound->rhs) ? scalar::unary(call->op, bound->lhs)
                                    : Expr();
  };
  kernel.body =
      map_exprs(kernel.body, [&](const Expr& e) { return scalar::rewrite(e, unbounded); });
  return kernel;
}

/// The elements that a program leaves, by tensor; nothing and a sentence where it cannot run.
struct Meaning {
  std::map<std::string, Elements> inputs, results;
};

bool has_given_values(program::Role role) {
  return role == program::Role::Input || role == program::Role::Inout;
}

Result<Meaning, std::string> meaning_of(const scalar::Field& field, const program::Program& program,
                                        const std::vector<int64_t>& params) {
  const auto shapes = program::required_shapes(program, params);
  if (!shapes)
    return fail(shapes.error().headline);
  const auto indices = program::index_values(program, params, *shapes);
  Meaning meaning;
  std::vector<Elements> tensors;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const program::Tensor& tensor = program.tensors[t];
    Elements elements(static_cast<size_t>(element_count((*shapes)[t])), field.zero(tensor.elem));
    if (has_given_values(tensor.role)) {
      for (size_t c = 0; c < elements.size(); ++c)
        elements[c] = indices[t]
                          ? scalar::int_value(indices[t]->value(
                                static_cast<int64_t>(c), static_cast<int64_t>(elements.size()), t))
                          : field.random(tensor.elem, hash_mix(t, c));
      meaning.inputs[tensor.name] = elements;
    }
    tensors.push_back(std::move(elements));
  }
  if (auto done = program::interpret_over(field, program, params, *shapes, tensors); !done)
    return fail(std::move(done).error());
  for (size_t t = 0; t < program.tensors.size(); ++t)
    if (program.tensors[t].role == program::Role::Output ||
        program.tensors[t].role == program::Role::Inout)
      meaning.results[program.tensors[t].name] = std::move(tensors[t]);
  return meaning;
}

std::vector<const Buffer*> arguments_in(const Kernel& kernel) {
  std::vector<const Buffer*> found;
  for (const Buffer& buffer : kernel.buffers)
    if (buffer.scope == Scope::Argument)
      found.push_back(&buffer);
  return found;
}

std::optional<std::string> different_element(const scalar::Field& field, const Buffer& buffer,
                                             const Elements& got, const Elements& wanted,
                                             const std::vector<int64_t>& params) {
  if (got.size() != wanted.size())
    return buffer.name + " has " + std::to_string(got.size()) + " elements instead of " +
           std::to_string(wanted.size());
  size_t count = 0;
  std::optional<size_t> first;
  for (size_t c = 0; c < got.size(); ++c)
    if (!field.is_same(buffer.elem, got[c], wanted[c])) {
      first = first.value_or(c);
      ++count;
    }
  if (!first)
    return std::nullopt;
  const std::vector<int64_t> extents = extents_of(buffer, params);
  std::string place;
  auto rest = static_cast<int64_t>(*first);
  for (size_t d = extents.size(); d-- > 0; rest /= extents[d])
    place = std::to_string(rest % extents[d]) + (place.empty() ? "" : ", ") + place;
  return buffer.name + "[" + place + "] and " + std::to_string(count - 1) +
         " more elements are something else than the program's";
}

/// One kernel and its program, at one size after the other.
class FieldComparison {
public:
  FieldComparison(const program::Program& program, const Kernel& kernel,
                  const FieldCheckOptions& options)
      : program_(program), kernel_(without_bounds_of_exp(kernel)), options_(options),
        field_(options.seed), buffers_(arguments_in(kernel_)) {}

  /// Sizes that cost less than is left of `budget`, until `is_enough`; the others.
  std::vector<std::vector<int64_t>> run(const std::vector<std::vector<int64_t>>& sizes,
                                        uint64_t budget, bool until_all_ran) {
    std::vector<std::vector<int64_t>> rest;
    for (const std::vector<int64_t>& params : sizes) {
      if (until_all_ran && have_all_run())
        return rest;
      const uint64_t count = program::count_instances(program_, params, budget);
      if (count >= budget) {
        rest.push_back(params);
        continue;
      }
      budget -= count;
      compare(params);
      if (check.wrong)
        return rest;
    }
    return rest;
  }
  bool have_all_run() const {
    return !ran_.empty() && std::all_of(ran_.begin(), ran_.end(), [](bool b) { return b; });
  }
  FieldCheck result(size_t left_out) {
    check.left_out += left_out;
    check.statements = ran_.size();
    check.never_run = static_cast<size_t>(std::count(ran_.begin(), ran_.end(), false));
    return std::move(check);
  }
  FieldCheck check;

private:
  void compare(const std::vector<int64_t>& params) {
    const auto meaning = meaning_of(field_, program_, params);
    if (!meaning) {
      ++check.left_out;
      return;
    }
    std::vector<Elements> arguments;
    for (const Buffer* buffer : buffers_) {
      const auto given = meaning->inputs.find(buffer->name);
      arguments.push_back(given != meaning->inputs.end() ? given->second : Elements{});
    }
    const auto done = interpret(
        kernel_, params, arguments,
        {.seed = options_.seed, .step_limit = options_.steps, .algebra = &field_, .ran = &ran_});
    if (!done && done.error() == kStepLimitReached) {
      ++check.left_out;
      return;
    }
    ++check.checked;
    if (!done)
      check.wrong = done.error();
    for (size_t b = 0; b < buffers_.size() && !check.wrong; ++b)
      if (const auto wanted = meaning->results.find(buffers_[b]->name);
          wanted != meaning->results.end())
        check.wrong = different_element(field_, *buffers_[b], arguments[b], wanted->second, params);
    if (check.wrong)
      check.params = params;
  }

  const program::Program& program_;
  const Kernel kernel_;
  const FieldCheckOptions& options_;
  const scalar::Field field_;
  std::vector<const Buffer*> buffers_;
  std::vector<bool> ran_; ///< by statement of the kernel
};

} // namespace

FieldCheck check_over_field(const program::Program& program, const Kernel& kernel,
                            const std::vector<std::vector<int64_t>>& sizes,
                            const FieldCheckOptions& options) {
  FieldComparison comparison(program, kernel, options);
  std::vector<std::vector<int64_t>> rest = comparison.run(sizes, options.instances, false);
  if (!comparison.check.wrong && !comparison.have_all_run())
    rest = comparison.run(rest, options.instances_for_rest, true);
  return comparison.result(rest.size());
}

} // namespace kawara::kernel
