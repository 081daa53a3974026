#pragma once

#include "run/executable.h"
#include "schedule/schedule.h"
#include "support/diagnostic.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kawara::driver {

/// The compiled programs of a model, each text compiled once.
class Kernels {
public:
  Kernels();

  /// Callable code of a program without parameters. Large programs get the default schedule, small
  /// ones the order of the text, which is compiled sooner and is as fast.
  Parsed<std::shared_ptr<const run::Executable>> compile(const std::string& text);

  /// Compiles those that are not yet known, several at a time; what fails will fail again in `compile`.
  void prepare(const std::vector<std::string>& texts);

  int64_t compiled() const { return static_cast<int64_t>(kernels_.size()); }
  double seconds() const { return seconds_; } ///< spent compiling

private:
  using Kernel = Parsed<std::shared_ptr<const run::Executable>>;
  Kernel make(const std::string& text) const;

  schedule::Environment environment_;
  run::LoadOptions options_;
  std::map<std::string, std::shared_ptr<const run::Executable>> kernels_;
  double seconds_ = 0;
};

} // namespace kawara::driver
