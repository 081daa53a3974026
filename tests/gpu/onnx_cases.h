#pragma once

#include "guarded_jobs.h"
#include "interpreted_tape.h"

namespace kawara::operator_models {

struct OnnxCaseOptions {
  std::string text;                ///< in the name of a case
  size_t part = 0, parts = 1;      ///< each `parts`th from number `part` on
  bool is_verbose = false;         ///< says what is refused
  Played played = Played::Kernels; ///< without a device
  bool makes_code = false;         ///< without a device, too: NVRTC takes the text or refuses it
};

/// The ONNX standard's own cases below a folder, as a GPU would run them. A case is right when it
/// has the standard's results, or, where a processor has others, a processor's. Refuses a folder
/// without cases (K0530).
Result<std::vector<GuardedJob>, Diagnostic> onnx_jobs(const std::string& folder,
                                                      const OnnxCaseOptions&);

} // namespace kawara::operator_models
