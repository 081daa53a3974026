#include "estimate/machines/limit.h"

#include "support/check.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace kawara::estimate {
namespace {

using scalar::Elem;

/// How badly a peak fits a type: its own, then wider ones of the same kind, then any.
int64_t misfit(const MachineFile::Peak& peak, Elem elem) {
  if (peak.elem == elem || (elem == Elem::U8 && peak.elem == Elem::I8))
    return 0;
  const int64_t wider = scalar::bytes_of(peak.elem) - scalar::bytes_of(elem);
  const bool is_same_kind = scalar::is_float(peak.elem) == scalar::is_float(elem);
  return wider >= 0 && is_same_kind ? 1 + wider : wider >= 0 ? 100 + wider : 200 - wider;
}

double per_second(const Throughput& figures, int64_t cores) {
  return std::min(figures.all_cores, figures.one_core * static_cast<double>(cores));
}

std::string milliseconds(double seconds) { return fmt::format("{:.4g} ms", seconds * 1e3); }

} // namespace

double Limit::seconds() const { return std::max(arithmetic_seconds, memory_seconds); }

const MachineFile::Peak& peak_for(const MachineFile& machine, Elem elem) {
  KAWARA_CHECK(!machine.peaks.empty(), "a machine without peaks");
  return *std::min_element(machine.peaks.begin(), machine.peaks.end(),
                           [&](const auto& a, const auto& b) {
                             return std::pair(misfit(a, elem), -a.operations.all_cores) <
                                    std::pair(misfit(b, elem), -b.operations.all_cores);
                           });
}

Limit limit_on(const MachineFile& machine, const Work& work, int64_t cores) {
  Limit made;
  for (const auto& [elem, count] : work.types)
    made.arithmetic_seconds += count / per_second(peak_for(machine, elem).operations, cores);
  made.memory_seconds = work.compulsory_bytes / per_second(machine.memory.bandwidth, cores);
  return made;
}

std::string print(const Limit& limit, const Work& work, const MachineFile& machine) {
  const double operations = operations_of(work), bytes = work.compulsory_bytes;
  const std::string unit = unit_of(work);
  std::string text = fmt::format("{} in {} statements, {} must move at least\n", quantities(work),
                                 work.statements.size(), quantity(bytes, "B"));
  if (operations > 0 && bytes > 0)
    text += fmt::format("intensity {:.3g} {unit}/byte, {:.3g} byte/{unit}\n", operations / bytes,
                        bytes / operations, fmt::arg("unit", unit));
  return text + fmt::format("at best {} on {}, bound by {}: arithmetic {}, memory {}\n"
                            "its loops are not looked at: a schedule is for a processor\n",
                            milliseconds(limit.seconds()), machine.name,
                            limit.is_memory_bound() ? "memory" : "arithmetic",
                            milliseconds(limit.arithmetic_seconds),
                            milliseconds(limit.memory_seconds));
}

std::string to_json(const Limit& limit, const Work& work, const MachineFile& machine) {
  const nlohmann::ordered_json json{{"ok", true},
                                    {"flops", work.flops},
                                    {"int_ops", work.int_ops},
                                    {"compulsory_bytes", work.compulsory_bytes},
                                    {"figures", machine.name},
                                    {"arithmetic_ms", limit.arithmetic_seconds * 1e3},
                                    {"memory_ms", limit.memory_seconds * 1e3},
                                    {"at_best_ms", limit.seconds() * 1e3},
                                    {"bound", limit.is_memory_bound() ? "memory" : "arithmetic"}};
  return json.dump(2);
}

} // namespace kawara::estimate
