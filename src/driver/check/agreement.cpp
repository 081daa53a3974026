#include "driver/check/agreement.h"

#include "driver/request.h"
#include "driver/session.h"
#include "support/hash.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kawara::driver {
namespace {

using graph::Tensor;

std::string form_text(const run::Datum& datum) {
  if (datum.is_sequence)
    return fmt::format("a sequence of {}", datum.items.size());
  return datum.tensor ? fmt::format("{}{}", graph::name_of(datum.tensor.type()),
                                    graph::text_of(datum.tensor.shape()))
                      : "nothing";
}

bool have_same_form(const run::Datum& a, const run::Datum& b) {
  if (a.is_sequence || b.is_sequence)
    return a.is_sequence && b.is_sequence && a.items.size() == b.items.size();
  if (!a.tensor || !b.tensor)
    return !a.tensor && !b.tensor;
  return a.tensor.type() == b.tensor.type() && a.tensor.shape() == b.tensor.shape();
}

/// NaN without the sign that it may have.
std::string element_text(double element) {
  return std::isnan(element) ? "nan" : fmt::format("{:.9g}", element);
}

/// "[1, 2]", the position of an element.
std::string place_text(int64_t element, const graph::Shape& shape) {
  std::string index;
  for (size_t d = shape.size(); d-- > 0;) {
    index = std::to_string(element % shape[d]) + (index.empty() ? "" : ", ") + index;
    element /= shape[d];
  }
  return index.empty() ? "" : "[" + index + "]";
}

double roundoff_of(graph::DataType type) {
  switch (type) {
  case graph::DataType::F64:
    return 0x1p-53;
  case graph::DataType::F16:
    return 0x1p-11;
  case graph::DataType::BF16:
    return 0x1p-8;
  default:
    return 0x1p-24;
  }
}

/// Distance of two integers of any type, without overflow.
double distance(int64_t a, int64_t b, bool is_unsigned) {
  const bool is_less = is_unsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
  const auto low = static_cast<uint64_t>(is_less ? a : b),
             high = static_cast<uint64_t>(is_less ? b : a);
  return static_cast<double>(high - low);
}

void compare_integers(const Tensor& got, const Tensor& expected, OutputAgreement& out) {
  const bool is_unsigned = expected.type() == graph::DataType::U64;
  for (int64_t k = 0; k < expected.elements(); ++k) {
    const int64_t a = got.get_int(k), b = expected.get_int(k);
    if (a == b)
      continue;
    ++out.differing;
    const double error = distance(a, b, is_unsigned);
    if (error <= out.worst)
      continue;
    out.worst = error;
    out.place = place_text(k, expected.shape());
    out.got = static_cast<double>(a);
    out.expected = static_cast<double>(b);
  }
}

void compare_floats(const Tensor& got, const Tensor& expected, OutputAgreement& out) {
  double largest = 0, squares = 0, errors = 0;
  for (int64_t k = 0; k < expected.elements(); ++k) {
    const double a = got.get_double(k), b = expected.get_double(k);
    if (std::isfinite(b)) {
      largest = std::max(largest, std::abs(b));
      squares += b * b;
    }
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    ++out.differing;
    const bool is_finite = std::isfinite(a) && std::isfinite(b);
    const double error = is_finite ? std::abs(a - b) : INFINITY;
    if (is_finite)
      errors += error * error;
    if (error <= out.worst)
      continue;
    out.worst = error;
    out.place = place_text(k, expected.shape());
    out.got = a;
    out.expected = b;
  }
  if (largest > 0)
    out.worst /= largest;
  out.norm = squares > 0 ? std::sqrt(errors / squares) : std::sqrt(errors);
}

} // namespace

OutputAgreement agreement_of(std::string name, const run::Datum& got, const run::Datum& expected) {
  OutputAgreement out;
  out.name = std::move(name);
  if (!have_same_form(got, expected)) {
    out.misfit = form_text(got) + " instead of " + form_text(expected);
    return out;
  }
  for (size_t k = 0; k < got.items.size(); ++k) {
    const OutputAgreement item =
        agreement_of(fmt::format("{}[{}]", out.name, k), {got.items[k], false, {}},
                     {expected.items[k], false, {}});
    if (!item.misfit.empty() || item.worst > out.worst)
      out = item;
    if (!item.misfit.empty())
      return out;
  }
  if (!expected.tensor)
    return out;
  out.is_float = graph::is_float(expected.tensor.type());
  out.elements = expected.tensor.elements();
  if (out.is_float)
    compare_floats(got.tensor, expected.tensor, out);
  else
    compare_integers(got.tensor, expected.tensor, out);
  return out;
}

std::vector<OutputAgreement> agreement_of(const std::vector<std::string>& names,
                                          const std::vector<run::Datum>& got,
                                          const std::vector<run::Datum>& expected) {
  std::vector<OutputAgreement> all;
  for (size_t k = 0; k < expected.size(); ++k)
    all.push_back(agreement_of(names[k], k < got.size() ? got[k] : run::Datum(), expected[k]));
  return all;
}

double allowed_difference(const std::vector<std::string>& programs, program::Numerics numerics,
                          graph::DataType floats) {
  if (numerics == program::Numerics::Exact)
    return 0;
  // Roundings of narrow values between programs add up as random steps do, and outweigh what
  // programs do in f32.
  const bool is_f16 = floats == graph::DataType::F16, is_bf16 = floats == graph::DataType::BF16;
  if (is_bf16 || (is_f16 && numerics != program::Numerics::Fast))
    return 2 * roundoff_of(floats) *
           std::sqrt(static_cast<double>(std::max<size_t>(programs.size(), 1)));
  double most = 64 * 0x1p-24; // without programs: what a few roundings leave
  for (const std::string& text : programs) {
    Request request;
    request.text = make_source("operator.kw", text);
    request.numerics = numerics;
    if (const auto program = program_of(request); program && program->params.empty())
      most = std::max(most, tolerance_of(*program, {}));
  }
  return most;
}

bool is_within(const OutputAgreement& agreement, const AllowedDifference& allowed) {
  if (!agreement.misfit.empty())
    return false;
  if (agreement.is_float)
    return agreement.worst <= allowed.floats;
  return agreement.worst <= allowed.integers ||
         static_cast<double>(agreement.differing) <=
             allowed.changed * static_cast<double>(agreement.elements);
}

bool are_within(const std::vector<OutputAgreement>& outputs, const AllowedDifference& allowed) {
  return std::all_of(outputs.begin(), outputs.end(),
                     [&](const OutputAgreement& each) { return is_within(each, allowed); });
}

run::Tensor perturbed_by_one_ulp(const run::Tensor& elements, uint64_t seed) {
  if (!elements || !graph::is_float(elements.type()))
    return elements;
  Tensor moved(elements.type(), elements.shape());
  for (int64_t k = 0; k < elements.elements(); ++k) {
    seed = hash_mix(seed, static_cast<uint64_t>(k));
    // Twice the roundoff: a number just above a power of two moves by no less.
    const double by = 2 * roundoff_of(elements.type()) * (seed % 2 == 0 ? 1 : -1);
    moved.set_double(k, elements.get_double(k) * (1 + by));
  }
  return moved;
}

std::string text_of(const OutputAgreement& a) {
  const std::string name = printable(a.name);
  if (!a.misfit.empty())
    return fmt::format("{}: {}", name, a.misfit);
  if (a.differing == 0)
    return name + ": the same";
  if (!a.is_float || std::isinf(a.worst))
    return fmt::format("{}: {} differ{}; {}{} is {} instead of {}", name,
                       a.differing == 1 ? "1 element" : fmt::format("{} elements", a.differing),
                       a.differing == 1 ? "s" : "", name, a.place, element_text(a.got),
                       element_text(a.expected));
  return fmt::format("{}: largest difference {:.1e} of the largest element, in norm {:.1e}", name,
                     a.worst, a.norm);
}

Diagnostic disagreement(const std::vector<OutputAgreement>& wrong, double allowed,
                        const std::string& from) {
  Diagnostic d;
  d.code = "K0436";
  d.headline = "the compiled result differs from " + from + "'s";
  std::string lines;
  for (const OutputAgreement& each : wrong)
    lines += text_of(each) + "\n";
  d.body.push_back(lines +
                   fmt::format("Rounding explains {:.1e} of the largest element, and integers "
                               "are exact.",
                               allowed));
  if (allowed == 0) {
    d.body.push_back("This is a bug in Kawara; please report it with the command and its files.");
    return d;
  }
  d.body.push_back("Either the model magnifies rounding, which the numerics contract leaves\nopen, "
                   "or this is a bug in Kawara.");
  d.help.push_back({"rule rounding out", "--numerics exact", false});
  return d;
}

} // namespace kawara::driver
