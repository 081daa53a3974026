#pragma once

#include "driver/kernels/code_cache.h"
#include "driver/kernels/text_family.h"
#include "driver/request.h"
#include "run/cpu/cached_code.h"
#include "schedule/schedule.h"
#include "support/diagnostic.h"
#include "support/trace.h"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace kawara::driver {

/// Directives for a program of a model where somebody knows better ones than the default; null
/// where not. Called from several threads at once.
using KnownSchedule = std::function<SourcePtr(const Request&)>;

/// Told after each program: how many of those that must be compiled are done. Called from several
/// threads, one at a time.
using Progress = std::function<void(size_t done, size_t of)>;

/// How the programs of a model are compiled.
struct CodeOptions {
  program::Numerics numerics = program::Numerics::Rounding;
  /// Tile of convolutions that can have it (`Request::winograd`); the others are direct sums.
  int64_t winograd = 0;
  /// Every artefact is checked on the way, so nothing comes from the cache; what checks say is kept
  /// (`Kernels::notes`).
  bool verify = false;
};

/// Code of a program, and what to call it with: code for a range of sizes has one parameter.
struct SizedCode {
  std::shared_ptr<const run::Executable> code;
  std::vector<int64_t> params;
};

/// The compiled programs of a model, each text compiled once.
class Kernels {
public:
  /// Code is kept in `cache_folder` and found there again; nowhere when it is empty.
  explicit Kernels(const std::string& cache_folder = "", Progress progress = nullptr,
                   const CodeOptions& = {});

  /// Asked about every program that is compiled from now on.
  void use(KnownSchedule known) { known_ = std::move(known); }

  /// Callable code of a program without parameters. Large programs get the default schedule, small
  /// ones the order of the text, which is compiled sooner and is as fast.
  Parsed<SizedCode> compile(const std::string& text);

  /// Compiles those that are not yet known, several at a time; what fails will fail again in
  /// `compile`.
  void prepare(const std::vector<std::string>& texts);

  /// What notes call the program with this text.
  void call(const std::string& text, std::string name) { names_[text] = std::move(name); }

  /// Says that two texts are one program for two sizes. If they make a family, further texts of it
  /// share one code for all sizes; texts that were compiled before keep the code of their own.
  void relate(const std::string& first, const std::string& second);
  /// Families that have code.
  std::vector<TextFamily> families() const;

  /// Code with memory of its own for what it prepares from these constants; steps with the same
  /// code and the same constants share it.
  std::shared_ptr<const run::Executable>
  with_constants(const std::shared_ptr<const run::Executable>& code,
                 const std::vector<const void*>& constants);

  int64_t compiled() const { return static_cast<int64_t>(kernels_.size()); }
  int64_t from_cache() const { return from_cache_; } ///< of those
  double seconds() const { return seconds_; }        ///< spent compiling
  const Trace& trace() const { return trace_; } ///< time in the stages, of all programs together
  int64_t in_tiles() const {
    return in_tiles_;
  } ///< programs compiled in the tiles that were asked for
  /// What checks said of the programs that were compiled: "conv_relu: kernel read back into sets:
  /// ...".
  std::vector<std::string> notes() const;
  /// How often each program was asked for: in how many places of the model it runs.
  const std::map<std::string, int64_t>& uses() const { return uses_; }

private:
  struct Made {
    std::shared_ptr<const run::Executable> code;
    bool is_from_cache = false, is_in_tiles = false;
    Trace trace;
  };
  /// A family, and whether its code could not be made.
  struct Family {
    TextFamily texts;
    bool is_refused = false;
  };
  /// A text to compile, and sizes by which its work is judged.
  struct Job {
    std::string text;
    std::vector<int64_t> params;
    size_t together = 1; ///< jobs of which it is one
  };
  Request request_of(const std::string& text) const;
  Parsed<Made> make(const Job& job) const;
  std::optional<run::Executable> found(const std::string& key) const;
  void keep(const std::string& text, const Made& made);
  void compile_all(std::vector<Job> jobs);
  const Family* family_with(const std::string& text) const;
  void make_families(const std::set<std::string>& texts);

  schedule::Environment environment_;
  run::LoadOptions options_;
  CodeOptions how_;
  Trace trace_;
  CodeCache cache_;
  Progress progress_;
  std::string key_; ///< of everything but the program that code depends on
  std::map<std::string, std::shared_ptr<const run::Executable>> kernels_;
  std::vector<Family> families_;
  std::map<std::pair<const run::Executable*, std::vector<const void*>>,
           std::weak_ptr<const run::Executable>>
      duplicates_;
  std::map<std::string, int64_t> uses_;
  std::map<std::string, std::string> names_;              ///< by text
  std::map<std::string, std::vector<std::string>> notes_; ///< by text
  KnownSchedule known_;
  int64_t from_cache_ = 0, in_tiles_ = 0;
  double seconds_ = 0;
};

} // namespace kawara::driver
