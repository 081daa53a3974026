#include "estimate/energy/energy.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace kawara::estimate {
namespace {

using scalar::Elem;

constexpr double kPico = 1e-12;
constexpr double kOperationsOfALane = 2; ///< a multiply and an add
constexpr double kOperandsOfAnInstruction = 3;

/// Null where no type as wide or wider has a figure.
const EnergyFigures::Operation* operation_for(const EnergyFigures& figures, Elem elem) {
  const EnergyFigures::Operation* best = nullptr;
  const auto rank = [&](const EnergyFigures::Operation& each) {
    const bool is_own = each.elem == elem || (elem == Elem::U8 && each.elem == Elem::I8);
    return std::pair(is_own ? 0 : scalar::bytes_of(each.elem),
                     each.unit == ComputeUnit::Matrix ? 0 : 1);
  };
  for (const EnergyFigures::Operation& each : figures.operations) {
    const bool fits = scalar::bytes_of(each.elem) >= scalar::bytes_of(elem) &&
                      scalar::is_float(each.elem) >= scalar::is_float(elem);
    if (fits && (best == nullptr || rank(each) < rank(*best)))
      best = &each;
  }
  return best;
}

const Coefficient* byte_of(const EnergyFigures& figures, const std::string& level) {
  const auto at = std::find_if(figures.bytes.begin(), figures.bytes.end(),
                               [&](const auto& each) { return each.level == level; });
  return at == figures.bytes.end() ? nullptr : &at->picojoules;
}

class Account {
public:
  explicit Account(const EnergyFigures& figures) : figures_(figures) {}

  void add_operations(Elem elem, double count, int64_t vector_bytes) {
    const std::string name = fmt::format("{} operations", scalar::name_of(elem));
    const EnergyFigures::Operation* figure = operation_for(figures_, elem);
    add(name, count, figure == nullptr ? nullptr : &figure->picojoules, kPico);
    if (vector_bytes == 0 || (figure != nullptr && figure->unit == ComputeUnit::Matrix))
      return;
    const double lanes = std::max(
        static_cast<double>(vector_bytes) / static_cast<double>(scalar::bytes_of(elem)), 1.0);
    instructions_ += count / kOperationsOfALane / lanes;
    register_bytes_ += count / kOperationsOfALane * kOperandsOfAnInstruction *
                       static_cast<double>(scalar::bytes_of(elem));
  }
  void add_instructions() {
    if (instructions_ == 0)
      return;
    add("vector instructions", instructions_,
        figures_.instruction ? &*figures_.instruction : nullptr, kPico);
    add_bytes("registers", register_bytes_);
  }
  void add_bytes(const std::string& level, double bytes) {
    if (bytes > 0)
      add(fmt::format("bytes from {}", level), bytes, byte_of(figures_, level), kPico);
  }
  void add_constant(double seconds) {
    if (seconds > 0)
      add("seconds of constant power", seconds,
          figures_.constant_watts ? &*figures_.constant_watts : nullptr, 1);
  }
  Energy take() { return std::move(made_); }

private:
  void add(std::string name, double count, const Coefficient* figure, double unit) {
    if (figure == nullptr)
      made_.missing.push_back(std::move(name));
    else
      made_.parts.push_back({std::move(name), count, band_of(*figure) * (count * unit)});
  }

  const EnergyFigures& figures_;
  Energy made_;
  double instructions_ = 0, register_bytes_ = 0;
};

std::string in_units(double value) {
  for (const auto& [scale, prefix] :
       {std::pair{1.0, ""}, std::pair{1e-3, "m"}, std::pair{1e-6, "u"}, std::pair{1e-9, "n"}})
    if (value >= scale)
      return fmt::format("{:.3g} {}J", value / scale, prefix);
  return fmt::format("{:.3g} pJ", value * 1e12);
}

std::string counted(double count) {
  for (const auto& [scale, prefix] :
       {std::pair{1e12, "T"}, std::pair{1e9, "G"}, std::pair{1e6, "M"}, std::pair{1e3, "k"}})
    if (count >= scale)
      return fmt::format("{:.4g} {}", count / scale, prefix);
  return fmt::format("{:.4g}", count);
}

std::string row(const std::string& name, const std::string& count, const Band& joules) {
  return fmt::format("  {:<28}{:>12}{:>12}{:>12}{:>12}\n", name, count, in_units(joules.low),
                     in_units(joules.value), in_units(joules.high));
}

nlohmann::ordered_json json_of(const Band& joules) {
  return {{"low", joules.low}, {"value", joules.value}, {"high", joules.high}};
}

} // namespace

Band& Band::operator+=(const Band& other) {
  low += other.low;
  value += other.value;
  high += other.high;
  return *this;
}

Band band_of(const Coefficient& c) { return {c.low, c.value, c.high}; }

Band Energy::joules() const {
  Band sum;
  for (const EnergyPart& part : parts)
    sum += part.joules;
  return sum;
}

Energy energy_of(const EnergyFigures& figures, const Activity& activity) {
  Account account(figures);
  for (const auto& [elem, count] : activity.operations)
    account.add_operations(elem, count, activity.vector_bytes);
  account.add_instructions();
  for (const auto& [level, bytes] : activity.bytes)
    account.add_bytes(level, bytes);
  account.add_constant(activity.seconds);
  return account.take();
}

std::string print(const Energy& energy, const std::string& machine, double operations) {
  std::string text =
      fmt::format("energy of a call, predicted with figures of {}\n  {:<28}{:>12}{:>12}{:>12}"
                  "{:>12}\n",
                  machine, "", "count", "low", "value", "high");
  for (const EnergyPart& part : energy.parts)
    text += row(part.name, counted(part.count), part.joules);
  const Band sum = energy.joules();
  text += row("together", "", sum);
  if (operations > 0)
    text += fmt::format("  {:.3g} pJ an operation, between {:.3g} and {:.3g}\n",
                        sum.value / operations * 1e12, sum.low / operations * 1e12,
                        sum.high / operations * 1e12);
  for (const std::string& name : energy.missing)
    text += fmt::format("  left out, no figure: {}\n", name);
  return text;
}

std::string to_json(const Energy& energy, const std::string& machine) {
  nlohmann::ordered_json json{{"figures", machine}, {"label", "predicted"}};
  json["joules"] = json_of(energy.joules());
  json["parts"] = json["missing"] = nlohmann::ordered_json::array();
  for (const EnergyPart& part : energy.parts)
    json["parts"].push_back(
        {{"name", part.name}, {"count", part.count}, {"joules", json_of(part.joules)}});
  for (const std::string& name : energy.missing)
    json["missing"].push_back(name);
  // Names in a machine file need not be UTF-8.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace kawara::estimate
