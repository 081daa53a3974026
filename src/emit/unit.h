#pragma once

#include "kernel/kernel.h"
#include "support/diagnostic.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kawara::emit {

/// A buffer as the caller of a kernel sees it.
struct BufferInfo {
  uint32_t id = 0; ///< number in the Kernel
  std::string name;
  scalar::Elem elem = scalar::Elem::F32;
  std::vector<scalar::Expr> shape; ///< in the parameters; row-major
  program::Role role = program::Role::Temp;
  /// Keeps its values from call to call; a workspace, after it was prepared.
  bool is_constant = false;
  /// A constant that nothing reads where RuntimeApi::is_prepared.
  bool is_dead_once_prepared = false;
};

/// An index of a tensor's dimension that is read from data, and the element of which tensor it was
/// read from.
struct IndexCheck {
  std::string tensor, index_tensor, statement;
  int64_t dim = 0, index_rank = 0;
  friend bool operator==(const IndexCheck&, const IndexCheck&) = default;
};

/// What must be passed to a compiled kernel, and the memory it needs besides.
struct Signature {
  std::string name;
  std::vector<program::Param> params;
  std::vector<BufferInfo> arguments; ///< in the order of the call
  /// Passed after the arguments, by the run time. Those that are not constant may hold anything
  /// before a call.
  std::vector<BufferInfo> workspace;
  bool has_prepared = false;       ///< part of the work is left out when RuntimeApi::is_prepared
  std::vector<BufferInfo> scratch; ///< private buffers that do not fit on the stack; per thread
  /// What is said where an index that was read from data lies outside: by the number that
  /// RuntimeFaults has.
  std::vector<IndexCheck> checks;
};

/// Private buffers up to this size and of constant shape live on the stack of their thread.
inline constexpr int64_t kStackBytes = 32 * 1024;
/// Start of every buffer that the run time makes.
inline constexpr int64_t kBufferAlignment = 64;
/// Bytes behind every such buffer that may be read, though not used.
inline constexpr int64_t kSlackBytes = 16;

Signature signature_of(const kernel::Kernel&);
/// Name of the visible function. Prefixed, because a kernel may be called `exp` or `main`.
std::string entry_symbol(const Signature&);

/// Bytes of a buffer, 0 for an empty one. Nothing when an extent cannot be computed, is negative,
/// or the product passes 2^62.
std::optional<int64_t> bytes_of(const BufferInfo&, std::span<const int64_t> params);
/// The same of a buffer that belongs to the kernel: a copy for loops that do not run may have a
/// negative extent, and then no elements.
std::optional<int64_t> own_bytes_of(const BufferInfo&, std::span<const int64_t> params);
/// Offsets of buffers laid out one after the other, each aligned; the last entry is the whole size.
std::optional<std::vector<int64_t>> layout_of(const std::vector<BufferInfo>&,
                                              std::span<const int64_t> params);

/// Offsets of a kernel's workspaces, those that keep their values and the others each in a row of
/// their own, and the bytes of both rows.
struct WorkspaceLayout {
  std::vector<int64_t> offsets;
  int64_t kept_bytes = 0, temp_bytes = 0;
};
std::optional<WorkspaceLayout> workspace_layout(const Signature&, std::span<const int64_t> params);

/// The processor that code is made for, in LLVM's names.
struct CodeTarget {
  std::string triple;
  std::string cpu;
  std::string features; ///< "+neon,-sve"
};
/// The machine this runs on. Features that the model implies but the system hides are off.
CodeTarget host_code_target();
/// Whether two triples name the same architecture and system: who made the machine (`pc`,
/// `unknown`) changes nothing about code.
bool has_same_system(const std::string& triple, const std::string& other);

struct EmitOptions {
  std::optional<CodeTarget> target; ///< the host when empty
  int opt_level = 3;                ///< 0..3, of the IR pipeline
};

/// Seconds spent.
struct EmitTimes {
  double build = 0;
  double optimise = 0;
};

/// A kernel as an optimised LLVM module, ready to be loaded or printed. Movable, not copyable.
class LlvmUnit {
public:
  struct Impl; ///< emit/llvm/module.h, for emit/llvm and run/cpu only

  explicit LlvmUnit(std::unique_ptr<Impl> impl);
  LlvmUnit(LlvmUnit&&) noexcept;
  LlvmUnit& operator=(LlvmUnit&&) noexcept;
  ~LlvmUnit();

  const Signature& signature() const;
  const CodeTarget& target() const;
  EmitTimes times() const;
  std::string ir() const; ///< LLVM IR text
  /// Of the unit's target. Refuses what LLVM cannot compile (K0449).
  Result<std::string, Diagnostic> assembly() const;
  Impl& impl() { return *impl_; }

private:
  std::unique_ptr<Impl> impl_;
};

/// The kernel as a module with one visible function, `entry_symbol` of type `KernelFunction`.
///
/// Floating point follows `Kernel::numerics`: exact code has no relaxation at all; under rounding
/// a*b+c may be contracted everywhere and only the combining operation of an update may be
/// reassociated; fast adds approximate functions and reciprocals. NaN and infinity always count.
/// Loops marked parallel run through `RuntimeApi::parallel_for`, nested ones serially.
/// Where LLVM gives up, whoever asks for the unit's code is told (K0449).
LlvmUnit module_from_kernel(const kernel::Kernel&, const EmitOptions& = {});

} // namespace kawara::emit
