#pragma once

#include "emit/unit.h"
#include "run/cpu/threads.h"
#include "support/diagnostic.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kawara::run {

/// Seconds spent turning a unit into machine code in memory.
struct LoadTimes {
  double codegen = 0;
};

struct LoadOptions {
  std::shared_ptr<ThreadPool> pool; ///< for parallel loops; one of `default_threads()` when empty
};

/// A kernel that can be called. Movable. Calls from several threads at once are fine: each has its
/// own workspace, and what is prepared from constants nobody writes again.
///
/// Memory for temps and for private buffers is planned at the first call with a set of parameter
/// values, so a further call with the same values allocates nothing. Executables with one pool of
/// threads share it; what is prepared from constants each keeps for itself.
class Executable {
public:
  struct Impl;
  explicit Executable(std::unique_ptr<Impl> impl);
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;
  ~Executable();

  const emit::Signature& signature() const;
  LoadTimes times() const;

  /// The same code with memory of its own: what it prepares from its constants is kept apart.
  Executable clone() const;

  /// Tells that values behind a constant have changed: the next calls prepare anew. A call with
  /// another pointer for a constant does so by itself.
  void forget_constants() const;

  /// Runs the kernel on buffers in the order of `signature().arguments`; they must not overlap.
  /// Refuses a wrong number of arguments (K0440) or parameters (K0441), a null or misaligned buffer
  /// (K0442), sizes that are negative or too large (K0443), and, after the run, division of
  /// integers by zero (K0412) and indices read from data that are outside of their tensor (K0413).
  Result<Done, Diagnostic> call(std::span<void* const> arguments,
                                std::span<const int64_t> params) const;

  /// The machine code as an object file, for `load_kept` in another process.
  const std::string& object() const;

  /// What calls so far prepared from constants. Empty when nothing is prepared.
  std::span<const std::byte> prepared() const;
  /// Lets calls with these arguments (without parameters) use a workspace that was prepared before,
  /// of the size that `prepared` had. It may be written; `workspace` keeps it alive.
  void adopt(std::span<void* const> arguments, std::shared_ptr<std::byte> workspace) const;

private:
  std::unique_ptr<Impl> impl_;
};

/// Code that was loaded before, perhaps in another process.
struct KeptCode {
  emit::Signature signature;
  std::string object;
};
/// Machine code that `Executable::object` gave, made for `target`. Refuses code for another
/// machine, or that cannot be linked (K0444).
Result<std::vector<Executable>, Diagnostic>
load_kept(const std::vector<KeptCode>&, const emit::CodeTarget& target, const LoadOptions& = {});

/// Machine code for the unit, in this process. Refuses a unit for another machine or one that
/// needs a function this process does not have (K0444), and one that LLVM cannot compile (K0449).
Result<Executable, Diagnostic> load(emit::LlvmUnit unit, const LoadOptions& = {});

} // namespace kawara::run
