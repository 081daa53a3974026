#include "tune/space/fused_tiles.h"

#include <algorithm>
#include <set>

namespace kawara::tune {
namespace {

using namespace schedule;

/// Neighbouring nests that may share loops over blocks.
using Run = std::vector<const KnownNest*>;

bool fits(const KnownNest& nest, size_t depth) {
  if (!nest.is_outermost || nest.facts.fixed > 0 || nest.nest.loops.size() < depth)
    return false;
  return std::all_of(nest.facts.strides.begin(),
                     nest.facts.strides.begin() + static_cast<std::ptrdiff_t>(depth),
                     [](const Strides& strides) { return !strides.writes_same_element; });
}

bool go_together(const KnownNest& a, const KnownNest& b, size_t depth) {
  return std::equal(a.facts.extents.begin(),
                    a.facts.extents.begin() + static_cast<std::ptrdiff_t>(depth),
                    b.facts.extents.begin());
}

std::vector<Run> runs_of(const Structure& structure, size_t depth) {
  std::vector<Run> runs;
  bool goes_on = false;
  for (const KnownNest& nest : structure.nests) {
    if (!fits(nest, depth)) {
      goes_on = false;
      continue;
    }
    if (goes_on && go_together(*runs.back().front(), nest, depth))
      runs.back().push_back(&nest);
    else
      runs.push_back({&nest});
    goes_on = true;
  }
  return runs;
}

/// Temps that no statement outside the run touches.
std::vector<std::string> inner_temps(const Structure& structure, const Run& run) {
  std::set<uint32_t> inside;
  for (const KnownNest* nest : run)
    for (const poly::StmtId id : nest->nest.statements)
      inside.insert(id.value);
  const poly::Scop& scop = structure.schedule.scop;
  std::set<uint32_t> written, outside;
  for (uint32_t s = 0; s < scop.statements.size(); ++s) {
    const program::Statement& text = scop.statements[s].text;
    if (scop.statements[s].is_removed)
      continue;
    (inside.contains(s) ? written : outside).insert(text.tensor);
    if (!inside.contains(s))
      scalar::visit(text.value, [&](const scalar::Expr& e) {
        if (const auto* load = scalar::as<scalar::Load>(e))
          outside.insert(load->tensor);
      });
  }
  std::vector<std::string> names;
  for (const uint32_t tensor : written)
    if (!outside.contains(tensor) && scop.tensors[tensor].role == program::Role::Temp)
      names.push_back(scop.tensors[tensor].name);
  return names;
}

/// The nests of a run in blocks, the loops over blocks shared.
DirectiveList together(const Structure& structure, const Run& run, size_t depth,
                       const Environment& environment) {
  DirectiveList list, fusions;
  for (const KnownNest* nest : run) {
    const NestRules rules(structure, *nest, environment),
        first(structure, *run.front(), environment);
    DirectiveList own = run.size() > 1 ? rules.blocks(depth) : rules.lanes();
    if (own.empty())
      return {};
    append(list, std::move(own));
    for (size_t k = 0; k < depth && nest != run.front(); ++k)
      fusions.push_back(Fuse{part_of(first.name(k), ".0"), part_of(rules.name(k), ".0")});
  }
  append(list, std::move(fusions));
  const bool is_parallel = std::all_of(run.begin(), run.end(), [](const KnownNest* nest) {
    return nest->facts.is_parallel.front();
  });
  if (run.size() > 1 && is_parallel)
    list.push_back(
        Parallel{part_of(NestRules(structure, *run.front(), environment).name(0), ".0")});
  return list;
}

} // namespace

std::vector<DirectiveList> fused_tiles(const Structure& structure, const Environment& environment) {
  std::vector<DirectiveList> lists;
  for (const size_t depth : {size_t{1}, size_t{2}}) {
    DirectiveList list = structure.directives, stores;
    bool has_pairs = false;
    for (const KnownNest& nest : structure.nests)
      if (!fits(nest, depth))
        append(list, NestRules(structure, nest, environment).lanes());
    for (const Run& run : runs_of(structure, depth)) {
      append(list, together(structure, run, depth, environment));
      if (run.size() == 1)
        continue;
      has_pairs = true;
      const NestRules first(structure, *run.front(), environment);
      for (const std::string& temp : inner_temps(structure, run))
        stores.push_back(StoreAt{temp, part_of(first.name(depth - 1), ".0")});
    }
    if (!has_pairs)
      continue;
    lists.push_back(list);
    if (!stores.empty()) {
      append(list, std::move(stores));
      lists.push_back(std::move(list));
    }
  }
  return lists;
}

} // namespace kawara::tune
