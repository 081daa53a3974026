#include "kawara/explained_way.h"

#include "estimate/count.h"
#include "explain/what_if.h"
#include "kawara/explained.h"
#include "kernel/memory/prepare.h"

namespace kawara::tools {
namespace {

/// Each directive is proved as often as it is a part of a prefix.
constexpr size_t kMostDirectives = 48;

bool is_same(const explain::Step& step, const estimate::Prediction& p) {
  if (step.seconds != p.seconds)
    return false;
  for (size_t k = 0; k < p.levels.size(); ++k)
    if (step.bytes[k] != p.levels[k].bytes)
      return false;
  return true;
}

explain::Step step_of(std::string label, const estimate::Prediction& p) {
  explain::Step step{std::move(label), p.seconds, {}};
  for (const estimate::LevelTraffic& level : p.levels)
    step.bytes.push_back(level.bytes);
  return step;
}

} // namespace

std::vector<explain::Step> way_of(const driver::Scheduled& front,
                                  const std::vector<std::string>& directives,
                                  const Prices& prices) {
  Trace trace{TraceOptions{}};
  std::vector<explain::Step> way;
  if (directives.size() > kMostDirectives)
    return way;
  driver::Request request;
  request.text = make_source("way.kw", program::print(front.rewritten));
  std::string prefix;
  for (size_t k = 0; k <= directives.size(); ++k) {
    if (k > 0)
      prefix += (k > 1 ? "; " : "") + directives[k - 1];
    request.directives = prefix.empty() ? nullptr : make_source("-s", prefix);
    const auto step = driver::schedule(request, prices.environment, trace);
    if (!step)
      return {};
    const auto work = estimate::count(step->program, prices.sizes);
    if (!work)
      return {};
    const estimate::Prediction p =
        estimate::predict(*work, kernel::prepare(driver::kernel_of(*step, trace)), prices.sizes,
                          prices.figures.machine, prices.figures.threads);
    if (way.empty() || !is_same(way.back(), p))
      way.push_back(step_of(k == 0 ? "order of the text" : directives[k - 1], p));
  }
  if (!way.empty())
    way.pop_back(); // the schedule itself
  return way;
}

std::string machine_json(const Figures& figures, const std::string& name) {
  if (!figures.file)
    return explain::machine_json(figures.machine);
  // The text was read before: it is there and has been checked.
  const auto source = machine_source(name);
  return source ? explain::machine_json((*source)->text) : "";
}

} // namespace kawara::tools
