#pragma once

#include "graph/tensor.h"
#include "program/interpret/values.h"
#include "support/diagnostic.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kawara::run {

// NumPy's `.npz` format: a zip archive with one `.npy` file per array. Stored and deflated members
// are read, zip64 sizes included; what is written is stored.

/// Arrays by member name without `.npy`. Members with other names are left out. Refuses what is no
/// zip archive (K0421), a damaged or encrypted one (K0426), and what `array_from_npy` refuses.
Result<program::Arrays, Diagnostic> arrays_from_npz(std::string_view bytes,
                                                    const std::string& name);

/// Refuses more than 4 GiB, which plain zip cannot hold (K0427); `name` is how messages call it.
Result<std::string, Diagnostic> npz_from_arrays(const program::Arrays& arrays,
                                                const std::string& name);

Result<program::Arrays, Diagnostic> read_npz(const std::string& path);
Result<Done, Diagnostic> write_npz(const std::string& path, const program::Arrays& arrays);

// The same for the tensors of models (run/npy.h).

/// The type that a model declares for a name; nothing where it has no such input.
using DeclaredTypes = std::function<std::optional<graph::DataType>(const std::string& name)>;
Result<std::map<std::string, graph::Tensor>, Diagnostic> read_npz_tensors(const std::string& path,
                                                                          const DeclaredTypes&);
Result<Done, Diagnostic> write_npz_tensors(const std::string& path,
                                           const std::map<std::string, graph::Tensor>& tensors);

} // namespace kawara::run
