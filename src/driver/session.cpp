#include "driver/session.h"

#include "driver/suspects.h"
#include "estimate/count.h"
#include "program/interpret/arguments.h"
#include "program/rewrites/find_convolution.h"
#include "program/rewrites/find_scan.h"
#include "program/rewrites/winograd.h"
#include "scalar/type.h"
#include "support/hash.h"
#include "support/memory.h"
#include "support/text.h"

#include <algorithm>
#include <cmath>

namespace kawara::driver {
namespace {

/// Pointers in the order of the kernel's signature.
std::vector<void*> pointers(const Compiled& compiled, std::vector<program::Array>& arrays) {
  std::vector<void*> out;
  const auto& tensors = compiled.front.program.tensors;
  for (const emit::BufferInfo& argument : compiled.executable.signature().arguments)
    for (size_t t = 0; t < tensors.size(); ++t)
      if (tensors[t].name == argument.name)
        out.push_back(arrays[t].data());
  return out;
}

template <class T> Parsed<T> collected(Result<T, Diagnostic> result) {
  if (!result)
    return fail(Diagnostics{std::move(result).error()});
  return *std::move(result);
}

double rounding_of(scalar::Elem elem) {
  switch (elem) {
  case scalar::Elem::F64:
    return 0x1p-52;
  case scalar::Elem::F32:
    return 0x1p-23;
  case scalar::Elem::F16:
    return 0x1p-10;
  case scalar::Elem::BF16:
    return 0x1p-7;
  case scalar::Elem::F8E4M3:
    return 0x1p-3;
  case scalar::Elem::F8E5M2:
    return 0x1p-2;
  default:
    return 0;
  }
}

/// How many updates an element gets on average, by statement; 1 for statements that assign.
std::vector<double> updates_of(const program::Program& program, const std::vector<int64_t>& sizes) {
  std::vector<double> updates(program.statements.size(), 1);
  const auto work = estimate::count(program, sizes);
  const auto shapes = program::required_shapes(program, sizes);
  for (size_t s = 0; work && shapes && s < program.statements.size(); ++s) {
    if (program.statements[s].op == scalar::ReduceOp::None)
      continue;
    double elements = 1;
    for (const int64_t extent : (*shapes)[program.statements[s].tensor])
      elements *= static_cast<double>(std::max<int64_t>(extent, 1));
    updates[s] = std::max(1.0, work->statements[s].instances / elements);
  }
  return updates;
}

/// A value that is the same bits however a program is compiled.
bool is_given(const program::Program& program, const scalar::Expr& value) {
  const auto* load = scalar::as<scalar::Load>(value);
  return scalar::as<scalar::FloatLit>(value) != nullptr ||
         (load != nullptr && program.tensors[load->tensor].role == program::Role::Input);
}

/// Units in the last place of all roundings to narrow floats within a value: f32(bf16(exp(x))).
/// Each may fall on the other side when what is rounded is computed otherwise; what is given is
/// rounded to the same bits.
double roundings_within(const program::Program& program, const scalar::Expr& value) {
  double units = 0;
  scalar::visit(value, [&](const scalar::Expr& e) {
    const auto* cast = scalar::as<scalar::Cast>(e);
    const scalar::Elem elem = e.type().elem;
    if (cast == nullptr || !scalar::is_float(elem) || elem == scalar::compute_type(elem))
      return;
    const scalar::Elem from = cast->arg.type().elem;
    if (scalar::is_float(from) && rounding_of(from) < rounding_of(elem) &&
        !is_given(program, cast->arg))
      units += rounding_of(elem);
  });
  return units;
}

/// What a store to elements of this type rounds, without a conversion to that very type.
scalar::Expr before_store(const scalar::Expr& value, scalar::Elem elem) {
  const auto* cast = scalar::as<scalar::Cast>(value);
  if (cast == nullptr)
    return value;
  if (value.type().elem == elem)
    return cast->arg;
  return value.type().elem == scalar::compute_type(elem) && cast->arg.type().elem == elem
             ? before_store(cast->arg, elem)
             : value;
}

/// The rounding of sums: that of the type they are computed in, or of f16 where `fast` adds up in
/// it.
double rounding_of_sums(const program::Program& program) {
  double coarsest = 0;
  for (const program::Tensor& t : program.tensors) {
    const bool adds_in_f16 =
        t.elem == scalar::Elem::F16 && program.numerics == program::Numerics::Fast;
    coarsest = std::max(coarsest, rounding_of(adds_in_f16 ? t.elem : scalar::compute_type(t.elem)));
  }
  return coarsest;
}

/// K0448: the tensors are larger than what is left.
Diagnostic too_large(const program::Program& program, const std::vector<int64_t>& sizes,
                     int64_t needed, int64_t left) {
  Diagnostic d;
  d.code = "K0448";
  d.headline = "the tensors need " + bytes_text(needed) + ", and " + bytes_text(left) + " are free";
  d.body.push_back("That is all tensors of the program at " + program::params_text(program, sizes) +
                   ".");
  d.help.push_back({"choose smaller sizes", "", false});
  return d;
}

/// Refuses sizes for which there is no memory (K0448), before any is taken.
Parsed<Done> require_memory(const program::Program& program, const std::vector<int64_t>& sizes) {
  KAWARA_TRY(const auto shapes, collected(program::required_shapes(program, sizes)));
  int64_t needed = 0;
  for (size_t t = 0; t < shapes.size(); ++t) {
    int64_t bytes = scalar::bytes_of(program.tensors[t].elem);
    for (const int64_t extent : shapes[t])
      bytes *= extent; // below 2^46: K0406
    needed = bytes > INT64_MAX - needed ? INT64_MAX : needed + bytes;
  }
  const int64_t left = memory_left();
  if (needed > left)
    return fail(Diagnostics{too_large(program, sizes, needed, left)});
  return Done{};
}

Result<Done, Diagnostic> called(const Compiled& compiled, const std::vector<void*>& arguments,
                                const std::vector<int64_t>& sizes) {
  auto done = compiled.executable.call(arguments, sizes);
  if (!done && done.error().code == "K0412")
    return fail(with_divisions(std::move(done).error(), compiled.front.program));
  if (!done && done.error().code == "K0413")
    return fail(with_place(std::move(done).error(), compiled.front.program));
  return done;
}

} // namespace

Parsed<program::Arrays> inputs_for(const program::Program& program,
                                   const std::vector<int64_t>& sizes, program::Arrays given) {
  KAWARA_TRY([[maybe_unused]] const Done done, require_memory(program, sizes));
  KAWARA_TRY(program::Arrays inputs, collected(program::pattern_inputs(program, sizes, 1)));
  for (auto& [name, array] : given)
    inputs[name] = std::move(array);
  return inputs;
}

Parsed<program::Arrays> call(const Compiled& compiled, const std::vector<int64_t>& sizes,
                             program::Arrays inputs) {
  KAWARA_TRY(auto arrays,
             collected(program::bind_arguments(compiled.front.program, sizes, std::move(inputs))));
  const std::vector<void*> arguments = pointers(compiled, arrays);
  KAWARA_TRY([[maybe_unused]] const Done done, collected(called(compiled, arguments, sizes)));
  return program::results_of(compiled.front.program, std::move(arrays));
}

Parsed<run::Timing> time_calls(const Compiled& compiled, const std::vector<int64_t>& sizes,
                               program::Arrays inputs, const run::MeasureOptions& options) {
  KAWARA_TRY(auto arrays,
             collected(program::bind_arguments(compiled.front.program, sizes, std::move(inputs))));
  const std::vector<void*> arguments = pointers(compiled, arrays);
  KAWARA_TRY([[maybe_unused]] const Done done, collected(called(compiled, arguments, sizes)));
  return run::measure(
      [&] {
        [[maybe_unused]] const bool ok =
            static_cast<bool>(compiled.executable.call(arguments, sizes));
      },
      options);
}

namespace {

/// Tensors of integers and conditions that rounding may decide (Freedom).
std::set<std::string> decided_by_floats(const program::Program& program) {
  std::vector<bool> is_decided;
  for (const program::Tensor& tensor : program.tensors)
    is_decided.push_back(scalar::is_float(tensor.elem));
  const auto has_float = [&](const scalar::Expr& whole) {
    bool found = false;
    scalar::visit(whole, [&](const scalar::Expr& e) {
      const auto* load = scalar::as<scalar::Load>(e);
      found = found || scalar::is_float(e.type().elem) || (load && is_decided[load->tensor]);
    });
    return found;
  };
  std::set<std::string> names;
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const program::Statement& s : program.statements) {
      if (is_decided[s.tensor] ||
          !(has_float(s.value) || std::any_of(s.index.begin(), s.index.end(), has_float) ||
            (s.over && (has_float(s.over->lo) || has_float(s.over->hi)))))
        continue;
      is_decided[s.tensor] = is_changed = true;
      names.insert(program.tensors[s.tensor].name);
    }
  }
  return names;
}

/// What elements of a scan are compared with at least. Of the 64 roundings that a tolerance has,
/// four are for what was rounded while the running value was largest.
double least_of_scan(const program::Array& array) {
  constexpr double kShare = 1.0 / 16;
  double largest = 0;
  for (int64_t k = 0; k < array.elements(); ++k)
    if (const double value = std::abs(array.get_double(k)); std::isfinite(value))
      largest = std::max(largest, value);
  return std::max(1.0, kShare * largest);
}

} // namespace

Freedom freedom_of(const program::Program& program) {
  Freedom freedom{decided_by_floats(program), {}};
  for (const uint32_t tensor : program::scanned_tensors(program))
    freedom.scanned.insert(program.tensors[tensor].name);
  return freedom;
}

Difference compare(const program::Arrays& got, const program::Arrays& expected,
                   const Freedom& freedom) {
  Difference difference;
  for (const auto& [name, want] : expected) {
    const program::Array& have = got.at(name);
    const bool is_exact =
        !scalar::is_float(want.elem()) && freedom.decided_by_floats.count(name) == 0;
    const double least = freedom.scanned.count(name) != 0 ? least_of_scan(want) : 1.0;
    for (int64_t k = 0; k < want.elements(); ++k) {
      const double a = have.get_double(k);
      const double b = want.get_double(k);
      if (is_exact ? have.get(k).i == want.get(k).i : a == b || (std::isnan(a) && std::isnan(b)))
        continue;
      double error = std::abs(a - b) / std::max(least, std::max(std::abs(a), std::abs(b)));
      if (is_exact || std::isnan(error))
        error = INFINITY;
      if (error <= difference.worst)
        continue;
      difference = {error, name, {}, a, b};
      int64_t rest = k;
      for (size_t d = want.shape().size(); d-- > 0;) {
        difference.element.insert(difference.element.begin(), rest % want.shape()[d]);
        rest /= want.shape()[d];
      }
    }
  }
  return difference;
}

double tolerance_of(const program::Program& program, const std::vector<int64_t>& sizes) {
  if (program.numerics == program::Numerics::Exact)
    return 0;
  const std::vector<double> updates = updates_of(program, sizes);
  double longest = 1;
  for (const int64_t size : sizes)
    longest = std::max(longest, static_cast<double>(size));
  for (const double count : updates)
    longest = std::max(longest, count);
  double tolerance = 64 * rounding_of_sums(program) * std::sqrt(longest + 1);
  if (program.numerics == program::Numerics::Fast)
    if (const auto found = program::find_convolution(program))
      tolerance = std::max(
          tolerance, program::winograd_error(4, *program::length_of(*found->loops[found->c])));
  // What is stored in a narrow type may fall on the other side of a rounding, and what is computed
  // from it may magnify that. Updates in place are rounded one by one.
  constexpr double kUnitsPerStore = 4;
  for (size_t s = 0; s < program.statements.size(); ++s) {
    const scalar::Elem elem = program.tensors[program.statements[s].tensor].elem;
    const bool is_update = program.statements[s].op != scalar::ReduceOp::None;
    scalar::Expr value = program.statements[s].value;
    if (elem != scalar::compute_type(elem)) {
      tolerance += rounding_of(elem) * (kUnitsPerStore + (is_update ? std::sqrt(updates[s]) : 0));
      value = before_store(value, elem);
    }
    tolerance += kUnitsPerStore * roundings_within(program, value);
  }
  return tolerance;
}

program::Arrays perturbed_by_one_ulp(program::Arrays inputs) {
  uint64_t turn = 1;
  for (auto& [name, array] : inputs)
    for (int64_t k = 0; scalar::is_float(array.elem()) && k < array.elements(); ++k) {
      turn = hash_mix(turn, static_cast<uint64_t>(k));
      const double by = rounding_of(array.elem()) * (turn % 2 == 0 ? 1 : -1);
      array.set_double(k, array.get_double(k) * (1 + by));
    }
  return inputs;
}

double tolerance_from_rounding(double worst) {
  // As many roundings as the tolerance for sums has; no more than what would still be called a
  // number.
  constexpr double kRoundings = 64, kMost = 1e-4;
  return std::min(kRoundings * worst, kMost);
}

} // namespace kawara::driver
