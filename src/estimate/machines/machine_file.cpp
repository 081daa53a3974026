#include "estimate/machines/machine_file.h"

#include "estimate/machines/fields.h"
#include "target/intrinsic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kawara::estimate {
namespace {

using scalar::Elem;
using Kind = MachineFile::Kind;

constexpr std::array<std::string_view, 2> kUnits{"vector", "matrix"};
constexpr std::array<std::string_view, 3> kKinds{"cpu", "gpu", "accelerator"};

Elem type_of(Fields& in) {
  const std::string name = in.text("type");
  const auto elem = scalar::elem_from_name(name);
  if (!elem && !name.empty())
    in.refuse("type", fmt::format("no element type is called `{}`", printable(name)),
              "Types are f64, f32, f16, bf16, i64, i32, i16, i8, u8, f8e4m3, f8e5m2.");
  return elem.value_or(Elem::F32);
}

ComputeUnit unit_of(Fields& in) { return static_cast<ComputeUnit>(in.one_of("unit", kUnits)); }

Throughput throughput_of(Fields& in, Kind kind, int64_t cores) {
  Throughput made;
  made.all_cores = in.positive("all_cores");
  // Of what is no processor nobody asks how fast one core is.
  if (kind == Kind::Cpu || in.has("one_core"))
    made.one_core = in.positive("one_core");
  else
    made.one_core = made.all_cores / static_cast<double>(std::max<int64_t>(cores, 1));
  if (made.one_core > made.all_cores)
    in.refuse("one_core", "one core is faster than all of them",
              fmt::format("`one_core` is {:g}, `all_cores` {:g}.", made.one_core, made.all_cores));
  return made;
}

Coefficient coefficient_of(Fields in) {
  Coefficient made;
  made.value = in.positive("value");
  made.low = in.positive("low");
  made.high = in.positive("high");
  made.node = in.text("node");
  made.source = in.text("source");
  if (in.is_sound() && (made.low > made.value || made.value > made.high))
    in.refuse("value", "`value` is not between `low` and `high`",
              fmt::format("low {:g}, value {:g}, high {:g}.", made.low, made.value, made.high));
  in.finish();
  return made;
}

MachineFile::Peak peak_of(Fields& in, const MachineFile& machine) {
  MachineFile::Peak made;
  made.elem = type_of(in);
  made.unit = unit_of(in);
  made.operations = throughput_of(in, machine.kind, machine.cores);
  made.source = in.text("source");
  if (made.unit == ComputeUnit::Matrix && machine.kind == Kind::Cpu) {
    made.instruction = in.text("instruction");
    if (!made.instruction.empty() && target::find_intrinsic(made.instruction) == nullptr)
      in.refuse("instruction",
                fmt::format("no instruction is called `{}`", printable(made.instruction)),
                "Names are those of `tensorize`: docs/reference/tensorize.md.");
  }
  return made;
}

MachineFile::Level level_of(Fields& in, const MachineFile& machine) {
  constexpr std::array<std::string_view, 3> policies{"lru", "plru", "fifo"};
  MachineFile::Level made;
  made.name = in.text("name");
  made.bytes = in.count("bytes");
  made.line_bytes = in.count("line_bytes");
  if (machine.kind == Kind::Cpu || in.has("ways")) {
    made.ways = in.count("ways");
    made.policy = policies[in.one_of("policy", policies)];
  }
  made.shared_by = in.count("shared_by");
  made.bandwidth = throughput_of(in, machine.kind, machine.cores);
  made.source = in.text("source");
  if (made.name == "memory" || made.name == "registers")
    in.refuse("name", fmt::format("a level cannot be called `{}`", made.name),
              "`memory` and `registers` have figures of their own.");
  return made;
}

MachineFile::Memory memory_of(Fields in, const MachineFile& machine) {
  MachineFile::Memory made;
  made.name = in.text("name");
  made.bytes = in.count("bytes");
  made.bandwidth = throughput_of(in, machine.kind, machine.cores);
  made.source = in.text("source");
  in.finish();
  return made;
}

MachineFile::Link link_of(Fields& in) {
  MachineFile::Link made;
  made.name = in.text("name");
  made.bandwidth = in.positive("bandwidth");
  made.source = in.text("source");
  return made;
}

bool has_level(const MachineFile& machine, const std::string& name) {
  const auto is_it = [&](const auto& each) { return each.name == name; };
  return name == "memory" || name == "registers" ||
         std::any_of(machine.levels.begin(), machine.levels.end(), is_it) ||
         std::any_of(machine.links.begin(), machine.links.end(), is_it);
}

EnergyFigures energy_of(Fields in, const MachineFile& machine) {
  EnergyFigures made;
  if (in.has("constant_watts"))
    made.constant_watts = coefficient_of(in.object("constant_watts"));
  if (in.has("instruction"))
    made.instruction = coefficient_of(in.object("instruction"));
  in.each("operations", [&](Fields& each) {
    const Elem elem = type_of(each);
    const ComputeUnit unit = unit_of(each);
    made.operations.push_back({elem, unit, coefficient_of(each.object("picojoules"))});
  });
  in.each("bytes", [&](Fields& each) {
    const std::string level = each.text("level");
    if (!level.empty() && !has_level(machine, level))
      each.refuse("level", fmt::format("the machine has no level `{}`", printable(level)),
                  "It is `registers`, `memory`, or the name of a level or link.");
    made.bytes.push_back({level, coefficient_of(each.object("picojoules"))});
  });
  in.finish();
  return made;
}

void check_levels(const MachineFile& machine, Fields& in) {
  for (size_t k = 0; k < machine.levels.size(); ++k) {
    const MachineFile::Level& level = machine.levels[k];
    for (size_t j = 0; j < k; ++j)
      if (machine.levels[j].name == level.name)
        in.refuse("levels", fmt::format("two levels are called `{}`", printable(level.name)),
                  "Each needs a name of its own.");
    if (k > 0 && level.bytes < machine.levels[k - 1].bytes)
      in.refuse("levels",
                fmt::format("`{}` is smaller than `{}`", printable(level.name),
                            printable(machine.levels[k - 1].name)),
                "Levels stand in a list from the nearest to the cores on, as one core sees them.");
  }
}

/// What predictions of time rest on (estimate/machine.h).
void check_processor(const MachineFile& machine, Fields& in) {
  for (const Elem elem : {Elem::F32, Elem::F64})
    if (std::none_of(machine.peaks.begin(), machine.peaks.end(), [&](const auto& peak) {
          return peak.elem == elem && peak.unit == ComputeUnit::Vector;
        }))
      in.refuse(
          "peaks",
          fmt::format("a processor needs a peak of type {} and unit vector", scalar::name_of(elem)),
          "Loops that no matrix instruction takes run at it.");
  if (machine.levels.empty())
    in.refuse("levels", "a processor needs a cache", "Name its L1 at least.");
}

} // namespace

std::string_view name_of(ComputeUnit unit) { return kUnits[static_cast<size_t>(unit)]; }
std::string_view name_of(Kind kind) { return kKinds[static_cast<size_t>(kind)]; }

Parsed<MachineFile> machine_file(const SourcePtr& source) {
  auto json = located_json(source);
  if (!json)
    return fail(Diagnostics{std::move(json).error()});
  Diagnostics errors;
  Fields in(*json, "the machine", source, errors);
  MachineFile made;
  made.name = in.text("name");
  made.kind = static_cast<Kind>(in.one_of("kind", kKinds));
  made.cores = in.count("cores");
  if (made.kind == Kind::Cpu || in.has("register_bytes"))
    made.register_bytes = in.count("register_bytes");
  if (made.kind == Kind::Cpu) {
    made.vector_bytes = in.count("vector_bytes");
    made.add_seconds = in.positive("add_seconds");
    made.fork_seconds = in.positive("fork_seconds");
  }
  in.each("peaks", [&](Fields& each) { made.peaks.push_back(peak_of(each, made)); });
  in.each("levels", [&](Fields& each) { made.levels.push_back(level_of(each, made)); });
  made.memory = memory_of(in.object("memory"), made);
  if (in.has("links"))
    in.each("links", [&](Fields& each) { made.links.push_back(link_of(each)); });
  if (in.has("energy"))
    made.energy = energy_of(in.object("energy"), made);
  in.finish();
  if (errors.empty())
    check_levels(made, in);
  if (errors.empty() && made.kind == Kind::Cpu)
    check_processor(made, in);
  if (!errors.empty())
    return fail(std::move(errors));
  return made;
}

std::vector<std::string> installed_machines() {
  std::vector<std::string> names;
  for (const auto& [name, text] : machine_texts())
    names.emplace_back(name);
  return names;
}

std::optional<std::string> installed_machine(std::string_view wanted) {
  for (const auto& [name, text] : machine_texts())
    if (name == wanted)
      return std::string(text);
  return std::nullopt;
}

} // namespace kawara::estimate
