#pragma once

#include "driver/check/agreement.h"

#include <functional>
#include <map>

namespace kawara::driver {

/// What a model gives on the processor, with values of that type between its programs.
using ProcessorRun = std::function<Result<std::vector<run::Datum>, Diagnostic>(
    const std::map<std::string, run::Datum>& inputs, graph::DataType floats)>;

struct GpuCheck {
  std::vector<OutputAgreement> outputs;
  AllowedDifference allowed;
};

/// How far results of a GPU may be from the processor's in f32, for values of type `floats` on the
/// GPU: of f32 many times what the order of sums makes of a net, of narrow ones 32 roundings. A
/// rounding decides few integers.
AllowedDifference allowed_on_gpu(graph::DataType floats);

/// Compares results of a GPU with what the processor makes of the same inputs in f32. Where they
/// are further apart than `allowed_on_gpu`, f32 inputs that are rounded elsewhere say how far the
/// model magnifies rounding. Under a narrow type, the processor's own results in that type do: they
/// may be twice as far away, and say whether the type can hold the model. Refuses results that
/// differ by more (K0737), a type that is too narrow on the processor as well (K0738), and what the
/// run refuses.
Result<GpuCheck, Diagnostic> check_gpu_model(const std::vector<std::string>& names,
                                             const std::map<std::string, run::Datum>& inputs,
                                             const std::vector<run::Datum>& results,
                                             graph::DataType floats, const ProcessorRun& run);

} // namespace kawara::driver
