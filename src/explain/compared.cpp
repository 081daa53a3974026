#include "explain/report.h"
#include "explain/words.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace kawara::explain {
namespace {

/// A number that both kinds of reports have.
struct Number {
  std::optional<double> value;
  std::string text;
};

struct Numbers {
  std::string title, verdict;
  Number seconds, speed, bytes, bytes_per_operation, joules;
};

Number number(std::optional<double> value, const std::string& text) {
  return {value, value ? text : "-"};
}

Numbers numbers_from(double seconds, double operations, double bytes,
                     const std::optional<estimate::Band>& joules) {
  const double speed = operations / std::max(seconds, 1e-30);
  const double ratio = bytes / std::max(operations, 1.0);
  return {"",
          "",
          number(seconds, duration(seconds)),
          number(speed, amount(speed, "OP") + "/s"),
          number(bytes, amount(bytes, "B")),
          operations > 0 ? number(ratio, fmt::format("{:.4g}", ratio)) : number({}, ""),
          joules ? number(joules->value, amount(joules->value, "J")) : number({}, "")};
}

Numbers numbers_of(const Report& report) {
  const LevelReport& memory = report.levels.back();
  Numbers made =
      numbers_from(report.prediction.seconds, estimate::operations_of(report.prediction.work),
                   memory.simulated.value_or(memory.predicted),
                   report.energy ? std::optional(report.energy->joules()) : std::nullopt);
  made.title = report.title;
  made.verdict = verdict(report);
  return made;
}

Numbers numbers_of(const ModelReport& report) {
  double seconds = 0, operations = 0, bytes = 0;
  std::optional<estimate::Band> joules;
  for (const KernelReport& kernel : report.kernels) {
    const auto times = static_cast<double>(kernel.times);
    seconds += kernel.seconds.value_or(kernel.least_seconds) * times;
    operations += kernel.operations * times;
    bytes += kernel.bytes * times;
    if (kernel.joules)
      joules = joules.value_or(estimate::Band{}) += *kernel.joules * times;
  }
  Numbers made = numbers_from(seconds, operations, bytes, joules);
  made.title = report.title;
  made.verdict = verdict(report);
  return made;
}

std::string row(const std::string& name, const Number& a, const Number& b) {
  const bool has_ratio = a.value && b.value && *a.value > 0;
  return fmt::format("  {:<22}{:>16}{:>16}{:>12}\n", name, a.text, b.text,
                     has_ratio ? fmt::format("{:.3g}x", *b.value / *a.value) : "-");
}

} // namespace

std::string print(const AnyReport& first, const AnyReport& second) {
  const auto numbers = [](const auto& report) { return numbers_of(report); };
  const Numbers a = std::visit(numbers, first), b = std::visit(numbers, second);
  return fmt::format("A: {}\nB: {}\n\n  {:<22}{:>16}{:>16}{:>12}\n", a.verdict, b.verdict, "", "A",
                     "B", "B / A") +
         row("time", a.seconds, b.seconds) + row("speed", a.speed, b.speed) +
         row("bytes", a.bytes, b.bytes) +
         row("bytes per operation", a.bytes_per_operation, b.bytes_per_operation) +
         row("energy", a.joules, b.joules);
}

std::string to_json(const AnyReport& first, const AnyReport& second) {
  const auto json = [](const AnyReport& any) {
    return nlohmann::ordered_json::parse(
        std::visit([](const auto& report) { return to_json(report); }, any));
  };
  return nlohmann::ordered_json{{"ok", true}, {"reports", {json(first), json(second)}}}.dump(2);
}

} // namespace kawara::explain
