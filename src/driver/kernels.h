#pragma once

#include "driver/request.h"
#include "run/executable.h"
#include "schedule/schedule.h"
#include "support/diagnostic.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kawara::driver {

/// Directives for a program of a model where somebody knows better ones than the default; null where not.
/// Called from several threads at once.
using KnownSchedule = std::function<SourcePtr(const Request&)>;

/// The compiled programs of a model, each text compiled once.
class Kernels {
public:
  Kernels();

  /// Asked about every program that is compiled from now on.
  void use(KnownSchedule known) { known_ = std::move(known); }

  /// Callable code of a program without parameters. Large programs get the default schedule, small
  /// ones the order of the text, which is compiled sooner and is as fast.
  Parsed<std::shared_ptr<const run::Executable>> compile(const std::string& text);

  /// Compiles those that are not yet known, several at a time; what fails will fail again in `compile`.
  void prepare(const std::vector<std::string>& texts);

  int64_t compiled() const { return static_cast<int64_t>(kernels_.size()); }
  double seconds() const { return seconds_; } ///< spent compiling
  /// How often each program was asked for: in how many places of the model it runs.
  const std::map<std::string, int64_t>& uses() const { return uses_; }

private:
  using Kernel = Parsed<std::shared_ptr<const run::Executable>>;
  Kernel make(const std::string& text) const;

  schedule::Environment environment_;
  run::LoadOptions options_;
  std::map<std::string, std::shared_ptr<const run::Executable>> kernels_;
  std::map<std::string, int64_t> uses_;
  KnownSchedule known_;
  double seconds_ = 0;
};

} // namespace kawara::driver
