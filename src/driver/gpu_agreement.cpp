#include "driver/gpu_agreement.h"

#include "support/hash.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kawara::driver {
namespace {

using graph::DataType;
using graph::Tensor;

constexpr double kRoundings = 64, kNarrowRoundings = 32;

double roundoff_of(DataType type) {
  switch (type) {
  case DataType::F64:
    return 0x1p-53;
  case DataType::F16:
    return 0x1p-11;
  case DataType::BF16:
    return 0x1p-8;
  default:
    return 0x1p-24;
  }
}

bool are_same_cells(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Of one output.
class ComparedOutput {
public:
  ComparedOutput(const Tensor& got, const Tensor& expected) : got_(got), expected_(expected) {}

  bool is_comparable() const {
    return static_cast<bool>(got_) && got_.type() == expected_.type() &&
           got_.shape() == expected_.shape();
  }

  /// The number of the cell with the largest difference; nothing when all are equal.
  std::optional<int64_t> compare(Agreement& out) const {
    double largest = 0, error = 0, squares = 0, errors = 0;
    int64_t others = 0;
    std::optional<int64_t> cell;
    for (int64_t k = 0; k < expected_.cells(); ++k) {
      const double a = got_.get_double(k), b = expected_.get_double(k);
      if (std::isfinite(b)) {
        largest = std::max(largest, std::abs(b));
        squares += b * b;
      }
      if (are_same_cells(a, b))
        continue;
      ++others;
      const double apart = std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : INFINITY;
      errors += apart * apart;
      if (!cell || apart > error)
        cell = k;
      error = std::max(error, apart);
    }
    if (graph::is_float(expected_.type())) {
      out.worst = largest > 0 ? error / largest : error;
      out.spread = std::sqrt(errors / std::max(squares, 1e-300));
    } else if (expected_.cells() > 0)
      out.changed = static_cast<double>(others) / static_cast<double>(expected_.cells());
    return cell;
  }

  std::string text_of(int64_t cell, size_t output) const {
    std::string index;
    for (size_t d = expected_.shape().size(); d-- > 0;) {
      const int64_t extent = expected_.shape()[d];
      index = std::to_string(cell % extent) + (index.empty() ? "" : ", ") + index;
      cell /= extent;
    }
    return fmt::format("output {}{}", output, index.empty() ? "" : "[" + index + "]");
  }

  const Tensor &got_, &expected_;
};

} // namespace

Agreement agreement_of(const std::vector<run::Datum>& got,
                       const std::vector<run::Datum>& expected) {
  Agreement all;
  double most = 0;
  for (size_t k = 0; k < expected.size(); ++k) {
    if (!expected[k].tensor)
      continue;
    const ComparedOutput one(got[k].tensor, expected[k].tensor);
    if (!one.is_comparable()) {
      all.worst = all.spread = all.changed = INFINITY;
      all.where = fmt::format("output {} has another type or shape", k);
      return all;
    }
    Agreement own;
    const auto cell = one.compare(own);
    all.worst = std::max(all.worst, own.worst);
    all.spread = std::max(all.spread, own.spread);
    all.changed = std::max(all.changed, own.changed);
    if (const double size = std::max(own.worst, own.changed);
        cell && (all.where.empty() || size > most)) {
      most = size;
      all.where =
          fmt::format("{} is {:.9g} instead of {:.9g}", one.text_of(*cell, k),
                      got[k].tensor.get_double(*cell), expected[k].tensor.get_double(*cell));
    }
  }
  return all;
}

AllowedAgreement allowed_agreement(DataType floats) {
  AllowedAgreement allowed;
  if (floats == DataType::F16 || floats == DataType::BF16)
    allowed.worst = allowed.changed = kNarrowRoundings * roundoff_of(floats);
  return allowed;
}

AllowedAgreement allowed_agreement(const Agreement& moved) {
  constexpr double kMost = 1e-2;
  AllowedAgreement allowed;
  allowed.worst = std::max(allowed.worst, std::min(kRoundings * moved.worst, kMost));
  allowed.changed = std::max(allowed.changed, std::min(kRoundings * moved.changed, 0.1));
  return allowed;
}

bool is_within(const Agreement& agreement, const AllowedAgreement& allowed) {
  return agreement.worst <= allowed.worst && agreement.changed <= allowed.changed;
}

std::vector<run::Datum> rounded_elsewhere(const std::vector<run::Datum>& inputs) {
  std::vector<run::Datum> moved = inputs;
  uint64_t turn = 1;
  for (run::Datum& datum : moved) {
    if (!datum.tensor || !graph::is_float(datum.tensor.type()))
      continue;
    Tensor cells(datum.tensor.type(), datum.tensor.shape());
    for (int64_t k = 0; k < cells.cells(); ++k) {
      turn = hash_mix(turn, static_cast<uint64_t>(k));
      const double by = 2 * roundoff_of(cells.type()) * (turn % 2 == 0 ? 1 : -1);
      cells.set_double(k, datum.tensor.get_double(k) * (1 + by));
    }
    datum.tensor = std::move(cells);
  }
  return moved;
}

std::optional<Diagnostic> refuse_difference(const Agreement& agreement,
                                            const AllowedAgreement& allowed,
                                            const std::string& reference) {
  if (is_within(agreement, allowed))
    return std::nullopt;
  Diagnostic d;
  d.code = "K0737";
  d.headline = "the model's results differ from those of " + reference;
  d.body.push_back(agreement.where + ".");
  if (!(agreement.worst <= allowed.worst))
    d.body.push_back(fmt::format("The largest difference is {:.2e} of the output's largest cell, "
                                 "more than {:.2e}.",
                                 agreement.worst, allowed.worst));
  if (!(agreement.changed <= allowed.changed))
    d.body.push_back(fmt::format("{:.2g} % of an output's integers are others, more than {:.2g} %.",
                                 agreement.changed * 100, allowed.changed * 100));
  d.body.push_back("Either the model magnifies rounding, or this is a bug in Kawara; please report "
                   "it with\nthe command and its files.");
  return d;
}

} // namespace kawara::driver
