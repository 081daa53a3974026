#pragma once

#include "support/diagnostic.h"
#include "tune/predict/forest.h"

#include <memory>

namespace kawara::tune {

/// The XGBoost library, opened at run time. It only grows the trees: what it has grown is a
/// `Forest` like any other, which predicts, is kept and is read again without the library.
class XGBoost {
public:
  /// The first of the names that is a library. Refuses a machine without one (K0646).
  static Result<std::shared_ptr<const XGBoost>, Diagnostic>
  open(const std::vector<std::string>& names = {"libxgboost.so.0", "libxgboost.so"});
  ~XGBoost();

  /// As `Forest::fit`, with the library's regularisation. On one thread: the same rows give the
  /// same trees.
  Forest fit(const std::vector<std::vector<double>>& rows, const std::vector<double>& labels,
             const std::vector<double>& weights, const ForestOptions& = {}) const;

private:
  struct Functions;
  explicit XGBoost(std::unique_ptr<Functions> functions);
  std::unique_ptr<Functions> functions_;
};

} // namespace kawara::tune
