#include "kawara/explained.h"

#include "poly/legality/shown_dependences.h"

#include <nlohmann/json.hpp>

namespace kawara::tools {
namespace {

using Json = nlohmann::ordered_json;

Json rates(const estimate::Rate& rate) { return {{"one_core", rate.one}, {"all_cores", rate.all}}; }

/// What was measured or described of this machine, in the form of a file.
Json machine_of(const estimate::Machine& machine) {
  Json json{{"name", "this machine"},
            {"kind", "cpu"},
            {"cores", machine.threads},
            {"vector_bytes", machine.vector_bytes},
            {"register_bytes", machine.register_bytes},
            {"add_seconds", machine.add_seconds},
            {"fork_seconds", machine.fork_seconds},
            {"peaks", Json::array()},
            {"levels", Json::array()}};
  for (const estimate::Peak& peak : machine.peaks) {
    Json one{{"type", std::string(scalar::name_of(peak.elem))},
             {"unit", peak.instruction.empty() ? "vector" : "matrix"}};
    if (!peak.instruction.empty())
      one["instruction"] = peak.instruction;
    one.update(rates(peak.flops));
    json["peaks"].push_back(std::move(one));
  }
  for (const estimate::Level& level : machine.levels) {
    Json one{{"name", level.name}, {"bytes", level.bytes}};
    one.update(rates(level.triad));
    if (level.bytes > 0)
      json["levels"].push_back(std::move(one));
    else
      json["memory"] = std::move(one);
  }
  return json;
}

} // namespace

std::string machine_json(const Figures& figures, const std::string& name) {
  if (figures.file)
    if (const auto source = machine_source(name))
      return Json::parse((*source)->text, nullptr, true, true).dump();
  return machine_of(figures.machine).dump();
}

void add_dependences(const program::Program& program, explain::Report& report) {
  const auto scop = poly::scop_from_program(program, poly::make_context());
  if (!scop) {
    report.missing.push_back("dependences: " + scop.error().front().headline);
    return;
  }
  const poly::ShownDependences shown = poly::shown_dependences(*scop);
  report.dependences = poly::summaries(*scop, shown.all);
  report.has_exact_dependences = shown.is_exact;
}

} // namespace kawara::tools
