#include "estimate/machine.h"

#include "support/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace kawara::estimate {
namespace {

using scalar::Elem;
using Json = nlohmann::ordered_json;

std::string size_text(int64_t bytes) {
  if (bytes == 0)
    return "";
  return bytes % (1 << 20) == 0 ? fmt::format("{} MiB", bytes >> 20)
                                : fmt::format("{} KiB", bytes >> 10);
}

Json rate_json(const Rate& rate) { return Json{{"one", rate.one}, {"all", rate.all}}; }

/// Members of a record read one by one; a missing or wrong one spoils it all.
class Reader {
public:
  explicit Reader(const nlohmann::json& from) : from_(from), is_whole_(from.is_object()) {}
  bool is_whole() const { return is_whole_; }

  void operator()(const char* name, double& value) {
    if (has(name, [](const auto& j) { return j.is_number(); }))
      value = from_[name].template get<double>();
    is_whole_ = is_whole_ && value >= 0;
  }
  void operator()(const char* name, int64_t& value) {
    if (has(name, [](const auto& j) { return j.is_number_integer(); }))
      value = from_[name].template get<int64_t>();
    is_whole_ = is_whole_ && value >= 0;
  }
  void operator()(const char* name, std::string& value) {
    if (has(name, [](const auto& j) { return j.is_string(); }))
      value = from_[name].template get<std::string>();
  }
  void operator()(const char* name, Rate& value) {
    if (!has(name, [](const auto& j) { return j.is_object(); }))
      return;
    Reader inner(from_[name]);
    inner("one", value.one);
    inner("all", value.all);
    is_whole_ = is_whole_ && inner.is_whole();
  }
  template <class F> void each(const char* name, const F& f) {
    if (!has(name, [](const auto& j) { return j.is_array(); }))
      return;
    for (const auto& entry : from_[name]) {
      Reader inner(entry);
      f(inner);
      is_whole_ = is_whole_ && inner.is_whole();
    }
  }
  void spoil() { is_whole_ = false; }

private:
  template <class Test> bool has(const char* name, const Test& test) {
    is_whole_ = is_whole_ && from_.contains(name) && test(from_[name]);
    return is_whole_;
  }
  const nlohmann::json& from_;
  bool is_whole_;
};

Level read_level(Reader& in) {
  Level level;
  in("name", level.name);
  in("bytes", level.bytes);
  in("read", level.read);
  in("write", level.write);
  in("copy", level.copy);
  in("triad", level.triad);
  return level;
}

Peak read_peak(Reader& in) {
  Peak peak;
  std::string type;
  in("type", type);
  in("instruction", peak.instruction);
  in("flops", peak.flops);
  if (const auto elem = scalar::elem_from_name(type))
    peak.elem = *elem;
  else
    in.spoil();
  return peak;
}

} // namespace

std::string identity_of(const target::Cpu& cpu) {
  const target::Caches& c = cpu.caches;
  return fmt::format("{} {} {} cores={} caches={},{},{},{}", name_of(cpu.arch), cpu.name,
                     join(cpu.features.names(), "+"), cpu.cores, c.l1d, c.l2, c.l3, c.line);
}

Machine described_machine(const target::Cpu& cpu) {
  constexpr double kClock = 2.5e9;
  const auto vector = static_cast<double>(cpu.vector_bytes);
  const auto cores = static_cast<double>(cpu.cores);
  Machine machine;
  machine.cpu = identity_of(cpu);
  machine.threads = cpu.cores;
  for (const Elem elem : {Elem::F32, Elem::F64}) {
    const double lanes = vector / static_cast<double>(scalar::bytes_of(elem));
    machine.peaks.push_back({elem, "", {4 * lanes * kClock, 4 * lanes * kClock * cores}});
  }
  const auto level = [&](const char* name, int64_t bytes, double one, double all) {
    const Rate rate{one, all};
    machine.levels.push_back({name, bytes, rate, rate, rate, rate});
  };
  level("L1", cpu.caches.l1d, 2 * vector * kClock, 2 * vector * kClock * cores);
  level("L2", cpu.caches.l2, vector * kClock, vector * kClock * cores);
  if (cpu.caches.l3 > 0)
    level("L3", cpu.caches.l3, 8 * kClock, 8 * kClock * cores);
  level("memory", 0, 10e9, 10e9 * std::min(cores, 8.0));
  machine.add_seconds = 4 / kClock;
  machine.fork_seconds = cpu.cores > 1 ? 5e-6 : 0;
  machine.register_bytes = cpu.vector_registers * cpu.vector_bytes;
  machine.line_bytes = cpu.caches.line;
  machine.vector_bytes = cpu.vector_bytes;
  return machine;
}

const Peak* find_peak(const Machine& machine, Elem elem) {
  const auto found = std::find_if(machine.peaks.begin(), machine.peaks.end(),
                                  [&](const Peak& peak) { return peak.elem == elem; });
  return found == machine.peaks.end() ? nullptr : &*found;
}

const Peak& peak_for(const Machine& machine, Elem elem) {
  if (const Peak* own = find_peak(machine, elem == Elem::U8 ? Elem::I8 : elem))
    return *own;
  return *find_peak(machine, scalar::bytes_of(elem) > 4 ? Elem::F64 : Elem::F32);
}

double rate_with(const Rate& rate, double threads) {
  return threads <= 1 ? rate.one : std::min(rate.all, rate.one * threads);
}

std::string print(const Machine& machine) {
  const std::string all =
      machine.threads == 1 ? "1 thread" : fmt::format("{} threads", machine.threads);
  std::string text = fmt::format("{:<28}{:>12}{:>12}\n", "Goperations/s", "one thread", all);
  for (const Peak& peak : machine.peaks)
    text += fmt::format("{:<28}{:>12.1f}{:>12.1f}\n",
                        fmt::format("  {:<5} {}", scalar::name_of(peak.elem),
                                    peak.instruction.empty() ? "multiply-add" : peak.instruction),
                        peak.flops.one * 1e-9, peak.flops.all * 1e-9);
  const auto table = [&](const std::string& title, double Rate::*member) {
    text += fmt::format("GB/s, {:<12}{:>10}{:>8}{:>8}{:>8}{:>8}\n", title, "size", "read", "write",
                        "copy", "triad");
    for (const Level& level : machine.levels)
      text +=
          fmt::format("  {:<16}{:>10}{:>8.1f}{:>8.1f}{:>8.1f}{:>8.1f}\n", level.name,
                      size_text(level.bytes), level.read.*member * 1e-9, level.write.*member * 1e-9,
                      level.copy.*member * 1e-9, level.triad.*member * 1e-9);
  };
  table("one thread", &Rate::one);
  if (machine.threads > 1)
    table(all, &Rate::all);
  text += fmt::format("multiply-add to multiply-add {:.2f} ns, threads start in {:.1f} us\n",
                      machine.add_seconds * 1e9, machine.fork_seconds * 1e6);
  return text;
}

std::string to_json(const Machine& machine) {
  Json json{{"cpu", machine.cpu},
            {"threads", machine.threads},
            {"is_measured", machine.is_measured},
            {"add_seconds", machine.add_seconds},
            {"fork_seconds", machine.fork_seconds},
            {"register_bytes", machine.register_bytes},
            {"line_bytes", machine.line_bytes},
            {"vector_bytes", machine.vector_bytes}};
  json["peaks"] = Json::array();
  for (const Peak& peak : machine.peaks)
    json["peaks"].push_back(Json{{"type", scalar::name_of(peak.elem)},
                                 {"instruction", peak.instruction},
                                 {"flops", rate_json(peak.flops)}});
  json["levels"] = Json::array();
  for (const Level& level : machine.levels)
    json["levels"].push_back(Json{{"name", level.name},
                                  {"bytes", level.bytes},
                                  {"read", rate_json(level.read)},
                                  {"write", rate_json(level.write)},
                                  {"copy", rate_json(level.copy)},
                                  {"triad", rate_json(level.triad)}});
  return json.dump(2);
}

std::optional<Machine> machine_from_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  Reader in(json);
  Machine machine;
  in("cpu", machine.cpu);
  in("threads", machine.threads);
  in("add_seconds", machine.add_seconds);
  in("fork_seconds", machine.fork_seconds);
  in("register_bytes", machine.register_bytes);
  in("line_bytes", machine.line_bytes);
  in("vector_bytes", machine.vector_bytes);
  in.each("peaks", [&](Reader& entry) { machine.peaks.push_back(read_peak(entry)); });
  in.each("levels", [&](Reader& entry) { machine.levels.push_back(read_level(entry)); });
  if (!in.is_whole() || !json.contains("is_measured") || !json["is_measured"].is_boolean())
    return std::nullopt;
  machine.is_measured = json["is_measured"].get<bool>();
  bool is_usable = machine.threads > 0 && machine.line_bytes > 0 && machine.vector_bytes > 0 &&
                   !machine.levels.empty() && find_peak(machine, Elem::F32) != nullptr &&
                   find_peak(machine, Elem::F64) != nullptr;
  const auto needs = [&](const Rate& rate) {
    is_usable = is_usable && rate.one > 0 && rate.all > 0;
  };
  for (const Peak& peak : machine.peaks)
    needs(peak.flops);
  for (const Level& level : machine.levels)
    for (const Rate& rate : {level.read, level.write, level.copy, level.triad})
      needs(rate);
  return is_usable ? std::optional(machine) : std::nullopt;
}

} // namespace kawara::estimate
