#pragma once

#include "peers/distance.h"
#include "program/program.h"

namespace kawara::peers {

enum class Outcome : uint8_t { Equal, Explained, PeerRefused, Refused, Wrong };

struct Verdict {
  Outcome outcome = Outcome::Equal;
  std::vector<std::string> names; ///< of the classes that explain it; the error's code
  std::string text;               ///< one line for people
};

/// Kawara's results for a sample beside ONNX Runtime's. Where they differ, the nodes are run one by
/// one on ONNX Runtime's values: each that differs must be explained, and the graph without these
/// nodes must not differ.
Verdict judged(const Sample&, const Peer&, program::Numerics);

/// Why differences of this kind are none of Kawara's faults.
std::string reason_of(const std::string& name);

} // namespace kawara::peers
