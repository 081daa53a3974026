#pragma once

#include "program/program.h"
#include "schedule/schedule.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kawara::driver {

/// What to compile and how: the words of a command line or an API call, not yet looked up.
struct Request {
  SourcePtr text;                            ///< `.kw`
  SourcePtr directives;                      ///< may be null: the source order
  std::map<std::string, int64_t> sizes;      ///< parameter values; those given become constants
  std::optional<program::Numerics> numerics; ///< instead of the file's
  /// Tile of convolutions (program/rewrites/winograd.h); 1: the direct sum; 0: `auto` decides,
  /// under `numerics fast`.
  int64_t winograd = 0;
};

/// Program of the request: parsed, the given sizes fixed. Refuses sizes that name no parameter
/// (K0430) or are negative (K0404), and Winograd's form where it cannot be had (K0258).
Parsed<program::Program> program_of(const Request&);

/// What is wrong with tiles of this size under this contract (K0258), whatever is computed; 0 and 1
/// ask for none.
std::optional<Diagnostic> refused_tiles(int64_t winograd, program::Numerics);

/// The request with the sizes that its text gives to parameters of which it names none. A text that
/// cannot be read has none.
Request with_default_sizes(Request);

/// A value for every parameter, or which ones are missing (K0431).
Parsed<std::vector<int64_t>> all_sizes(const program::Program&, const Request&);

} // namespace kawara::driver
