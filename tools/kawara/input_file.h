#pragma once

#include "support/diagnostic.h"
#include "support/result.h"
#include "support/source.h"

#include <string>

namespace kawara::tools {

enum class FileKind { Program, Model, CompiledModel };

/// What a file holds, by its content: a model is one under any name, and so is a text that declares
/// a result. What cannot be read, other text, and bytes of no known kind are what the name's ending
/// says.
FileKind file_kind(const std::string& path);

/// The text of a program; a mark of UTF-8 at its beginning is left away. Refuses a file that cannot
/// be read (K0420), an empty one, and one that holds something else than text or that is known not
/// to be a program (K0450).
Result<SourcePtr, Diagnostic> program_source(const std::string& path);

} // namespace kawara::tools
