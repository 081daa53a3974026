#pragma once

#include "kawara/command.h"

#include <optional>

namespace kawara::tools {

/// What a command works on: options that mean something for one kind mean nothing for another.
enum class InputKind : uint8_t { Program, GpuProgram, Model, GpuModel, CompiledModel };

/// By the file's name and `--target`.
InputKind kind_of(const CommonOptions&);

/// Refuses an option that was given and means nothing for this kind of input, with what to use
/// instead (K0439). Every option of the commands below is known here; an InternalError otherwise,
/// so that no option can be forgotten.
std::optional<Diagnostic> refused_option(const CLI::App& command, InputKind kind);

} // namespace kawara::tools
