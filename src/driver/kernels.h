#pragma once

#include "driver/code_cache.h"
#include "driver/request.h"
#include "run/kept_code.h"
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

/// Told after each program: how many of those that must be compiled are done. Called from several
/// threads, one at a time.
using Progress = std::function<void(size_t done, size_t of)>;

/// The compiled programs of a model, each text compiled once.
class Kernels {
public:
  /// Code is kept in `cache_folder` and found there again; nowhere when it is empty.
  explicit Kernels(const std::string& cache_folder = "", Progress progress = nullptr);

  /// Asked about every program that is compiled from now on.
  void use(KnownSchedule known) { known_ = std::move(known); }

  /// Callable code of a program without parameters. Large programs get the default schedule, small
  /// ones the order of the text, which is compiled sooner and is as fast.
  Parsed<std::shared_ptr<const run::Executable>> compile(const std::string& text);

  /// Compiles those that are not yet known, several at a time; what fails will fail again in `compile`.
  void prepare(const std::vector<std::string>& texts);

  int64_t compiled() const { return static_cast<int64_t>(kernels_.size()); }
  int64_t from_cache() const { return from_cache_; } ///< of those
  double seconds() const { return seconds_; }        ///< spent compiling
  /// How often each program was asked for: in how many places of the model it runs.
  const std::map<std::string, int64_t>& uses() const { return uses_; }

private:
  struct Made {
    std::shared_ptr<const run::Executable> code;
    bool is_from_cache = false;
  };
  Parsed<Made> make(const std::string& text) const;
  std::optional<run::Executable> found(const std::string& key) const;
  void keep(const std::string& text, const Made& made);

  schedule::Environment environment_;
  run::LoadOptions options_;
  CodeCache cache_;
  Progress progress_;
  std::string key_; ///< of everything but the program that code depends on
  std::map<std::string, std::shared_ptr<const run::Executable>> kernels_;
  std::map<std::string, int64_t> uses_;
  KnownSchedule known_;
  int64_t from_cache_ = 0;
  double seconds_ = 0;
};

} // namespace kawara::driver
