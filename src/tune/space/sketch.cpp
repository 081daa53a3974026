#include "tune/space/sketch.h"

#include "schedule/auto/auto.h"
#include "target/intrinsic.h"
#include "tune/space/fused_tiles.h"
#include "tune/space/gpu_sketch.h"
#include "tune/space/nest_rules.h"

#include <algorithm>
#include <set>

namespace kawara::tune {
namespace {

using namespace schedule;

using List = DirectiveList;

using OfNest = std::function<List(const NestRules&)>;

/// The rule on every nest of every structure; nests that it says nothing about get lanes.
std::vector<List> everywhere(const Ground& ground, const OfNest& rule) {
  std::vector<List> lists;
  for (const Structure& structure : ground.structures) {
    List list = structure.directives;
    bool applies = false;
    for (const KnownNest& nest : structure.nests) {
      const NestRules rules(structure, nest, ground.environment);
      List own = rule(rules);
      applies = applies || !own.empty();
      append(list, own.empty() ? rules.lanes() : std::move(own));
    }
    for (const LoopName& loop : structure.spread)
      list.push_back(Parallel{loop});
    if (applies)
      lists.push_back(std::move(list));
  }
  return lists;
}

std::vector<List> defaults(const Ground& ground) { return {{Auto{}}, ground.steps}; }

/// Features that only bring instructions for products.
constexpr target::Feature kProductFeatures[] = {
    target::Feature::Fp16,       target::Feature::Dotprod,    target::Feature::I8mm,
    target::Feature::Bf16,       target::Feature::Avx512vnni, target::Feature::Avx512bf16,
    target::Feature::Avx512fp16, target::Feature::AmxBf16,    target::Feature::AmxInt8};

Environment without_feature(Environment environment, std::optional<target::Feature> only) {
  target::Features left;
  for (uint32_t f = 0; f < target::kFeatureCount; ++f) {
    const auto feature = static_cast<target::Feature>(f);
    const bool is_for_products = std::find(std::begin(kProductFeatures), std::end(kProductFeatures),
                                           feature) != std::end(kProductFeatures);
    const bool is_gone = only ? feature == *only : is_for_products;
    if (environment.cpu.features.has(feature) && !is_gone)
      left.add(feature);
  }
  environment.cpu.features = left;
  return environment;
}

/// What `auto` would do on a machine that lacks an instruction which it uses here, or all of them.
std::vector<List> other_instructions(const Ground& ground) {
  std::set<std::string_view> used;
  for (const Directive& d : ground.steps)
    if (const auto* tensorize = std::get_if<Tensorize>(&d))
      used.insert(tensorize->instruction);
  if (used.empty())
    return {};
  std::vector<List> lists{spelled_out(ground.initial, without_feature(ground.environment, {}))};
  for (const target::Feature feature : kProductFeatures) {
    const Environment other = without_feature(ground.environment, feature);
    const bool misses_some = std::any_of(
        target::intrinsics().begin(), target::intrinsics().end(), [&](const auto& intrinsic) {
          return used.contains(intrinsic.name) && !target::is_available(intrinsic, other.cpu);
        });
    if (misses_some)
      lists.push_back(spelled_out(ground.initial, other));
  }
  return lists;
}

/// What `auto` would do with one core: threads cost more than they bring where there is little to
/// do.
std::vector<List> one_core(const Ground& ground) {
  const bool uses_several =
      std::any_of(ground.steps.begin(), ground.steps.end(),
                  [](const Directive& d) { return std::holds_alternative<Parallel>(d); });
  if (!uses_several)
    return {};
  Environment environment = ground.environment;
  environment.cpu.cores = 1;
  return {spelled_out(ground.initial, environment)};
}

std::vector<List> fused(const Ground& ground) {
  std::vector<List> lists;
  for (const Structure& structure : ground.structures)
    for (List& list : fused_tiles(structure, ground.environment))
      lists.push_back(std::move(list));
  return lists;
}

Rule rule_everywhere(std::string name, OfNest of_nest) {
  return {std::move(name), [of_nest = std::move(of_nest)](const Ground& ground) {
            return everywhere(ground, of_nest);
          }};
}

} // namespace

Ground ground_of(const Schedule& initial, const Environment& environment) {
  Ground ground{initial,
                environment,
                environment.gpu ? gpu_steps(initial, environment)
                                : spelled_out(initial, environment),
                {}};
  if (!environment.gpu)
    ground.structures = structures_of(initial, ground.steps, environment);
  return ground;
}

std::vector<Rule> known_rules(const Environment& environment) {
  if (environment.gpu)
    return {{"default", defaults}, {"other GPUs", [](const Ground& ground) {
                                      return steps_of_other_gpus(ground.initial,
                                                                 ground.environment);
                                    }}};
  return {
      {"source", [](const Ground&) { return std::vector<List>{{}}; }},
      {"default", defaults},
      {"one core", one_core},
      {"instructions", other_instructions},
      rule_everywhere("lanes", [](const NestRules& nest) { return nest.lanes(); }),
      rule_everywhere("tiles", [](const NestRules& nest) { return nest.tiles(); }),
      {"fused", fused},
      rule_everywhere("levels", [](const NestRules& nest) { return nest.levels(false); }),
      rule_everywhere("packed", [](const NestRules& nest) { return nest.levels(true); }),
      rule_everywhere("partial", [](const NestRules& nest) { return nest.partial(false); }),
      rule_everywhere("partial by thread",
                      [](const NestRules& nest) { return nest.partial(true); }),
  };
}

Rule rule_of(std::string name, std::vector<Directive> list) {
  return {std::move(name),
          [list = std::move(list)](const Ground&) { return std::vector<List>{list}; }};
}

std::vector<Point> sketches(const std::vector<Rule>& rules, const Ground& ground) {
  std::vector<Point> points;
  std::set<std::string> seen;
  for (const Rule& rule : rules) {
    size_t number = 0;
    for (List& list : rule.lists(ground)) {
      Point point{std::move(list), rule.name};
      if (number > 0)
        point.sketch += " " + std::to_string(number + 1);
      ++number;
      if (seen.insert(text_of(point)).second)
        points.push_back(std::move(point));
    }
  }
  return points;
}

} // namespace kawara::tune
