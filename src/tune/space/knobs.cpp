#include "tune/space/knobs.h"

#include "schedule/tree/extent.h"
#include "tune/space/collective.h"

#include <algorithm>
#include <set>

namespace kawara::tune {
namespace {

using schedule::Pipeline;
using schedule::Split;
using schedule::Tile;
using schedule::Unroll;
using schedule::UnrollAndJam;
using schedule::Vectorize;

constexpr int64_t kUnknownExtent = 1024;
constexpr int64_t kMostRows = 14;
constexpr int64_t kMostVectors = 6;
constexpr int64_t kMostStages = 5;
/// Of a GPU: parts of a block, and elements of a thread along one loop.
constexpr int64_t kMostGpuBlock = 256, kMostOfThread = 32, kMostGpuStages = 8;

int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

LoopName point_loop(LoopName loop) {
  loop.loop += ".1";
  return loop;
}

/// "i" of "i.1.0".
std::string root_of(const std::string& loop) { return loop.substr(0, loop.find('.')); }

/// ".1.0" of "i.1.0".
std::string suffix_of(const std::string& loop) { return loop.substr(root_of(loop).size()); }

/// The size at a place.
int64_t& size_at(Directive& directive, size_t item) {
  if (auto* split = std::get_if<Split>(&directive))
    return split->size;
  if (auto* tile = std::get_if<Tile>(&directive))
    return tile->loops[item].second;
  if (auto* unroll = std::get_if<Unroll>(&directive))
    return *unroll->factor;
  if (auto* vectorize = std::get_if<Vectorize>(&directive))
    return *vectorize->width;
  if (auto* pipeline = std::get_if<Pipeline>(&directive))
    return pipeline->stages;
  return std::get<UnrollAndJam>(directive).factor;
}

/// Loops that a list cuts, with the place and size of each cut.
struct CutLoop {
  LoopName loop;
  size_t directive = 0, item = 0;
  int64_t size = 0;
};

std::vector<CutLoop> cuts_of(const std::vector<Directive>& list) {
  std::vector<CutLoop> cuts;
  for (size_t k = 0; k < list.size(); ++k) {
    if (const auto* split = std::get_if<Split>(&list[k]))
      cuts.push_back({split->loop, k, 0, split->size});
    if (const auto* tile = std::get_if<Tile>(&list[k]))
      for (size_t item = 0; item < tile->loops.size(); ++item)
        cuts.push_back({tile->loops[item].first, k, item, tile->loops[item].second});
  }
  return cuts;
}

/// Collects the knobs of one list.
class Collector {
public:
  Collector(const std::vector<Directive>& list, const Extents& extents)
      : list_(list), extents_(extents), cuts_(cuts_of(list)) {}

  std::vector<Knob> knobs() {
    for (const CutLoop& cut : cuts_)
      add(kind_of(cut), name_of(cut), {cut.directive, cut.item}, cut.size, choices_for(cut));
    for (size_t k = 0; k < list_.size(); ++k) {
      if (const auto* unroll = std::get_if<Unroll>(&list_[k]); unroll != nullptr && unroll->factor)
        add(Knob::Kind::Unroll, unroll->loop.loop, {k, 0}, *unroll->factor, {2, 4, 8, 16});
      if (const auto* jam = std::get_if<UnrollAndJam>(&list_[k]))
        add(Knob::Kind::Jam, jam->loop.loop, {k, 0}, jam->factor, {2, 3, 4, 6, 8});
      if (const auto* pipeline = std::get_if<Pipeline>(&list_[k]))
        add(Knob::Kind::Stages, pipeline->loop.loop, {k, 0}, pipeline->stages, stages());
      if (const auto* vector = std::get_if<Vectorize>(&list_[k]);
          vector != nullptr && vector->width) {
        // Inside a tile of lanes, more than one register at a time is what unrolling is for.
        const bool is_tile = marked_cut(vector->loop);
        const int64_t one = extents_.lanes;
        add(Knob::Kind::Width, vector->loop.loop, {k, 0}, *vector->width,
            extents_.is_gpu ? std::vector<int64_t>{2, 4, 8}
            : is_tile       ? std::vector<int64_t>{one}
                            : std::vector<int64_t>{one, 2 * one, 4 * one});
      }
    }
    return std::move(knobs_);
  }

private:
  std::vector<int64_t> stages() const {
    std::vector<int64_t> choices;
    for (int64_t k = 2; k <= (extents_.is_gpu ? kMostGpuStages : kMostStages); ++k)
      choices.push_back(k);
    return choices;
  }

  bool marked_cut(const LoopName& loop) const {
    return std::any_of(cuts_.begin(), cuts_.end(),
                       [&](const CutLoop& cut) { return point_loop(cut.loop) == loop; });
  }

  template <class D> bool is_marked(const LoopName& loop) const {
    return std::any_of(list_.begin(), list_.end(), [&](const Directive& d) {
      const auto* mark = std::get_if<D>(&d);
      return mark != nullptr && mark->loop == loop;
    });
  }

  Knob::Kind kind_of(const CutLoop& cut) const {
    const LoopName point = point_loop(cut.loop);
    if (is_marked<Vectorize>(
            point)) // threads of a GPU have their elements alike, with vectors or without
      return extents_.is_gpu ? Knob::Kind::Rows : Knob::Kind::Lanes;
    return is_marked<Unroll>(point) ? Knob::Kind::Rows : Knob::Kind::Block;
  }

  bool is_of_source(const LoopName& loop) const {
    const std::string root = root_of(loop.loop);
    return std::any_of(extents_.of_loop.begin(), extents_.of_loop.end(), [&](const auto& known) {
      return known.first.substr(known.first.find('.') + 1) == root;
    });
  }

  /// Cuts of one name and size are transposed together. A copy to shared memory or registers has
  /// loops of other names: threads that copy as they read later have the same cut as some reader.
  std::string name_of(const CutLoop& cut) const {
    if (extents_.is_gpu && !is_of_source(cut.loop))
      for (const CutLoop& other : cuts_)
        if (other.size == cut.size && kind_of(other) == kind_of(cut) && is_of_source(other.loop) &&
            suffix_of(other.loop.loop) == suffix_of(cut.loop.loop))
          return root_of(other.loop.loop);
    return root_of(cut.loop.loop);
  }

  int64_t extent_of(const LoopName& loop) const {
    const std::string root = root_of(loop.loop);
    if (loop.statement)
      if (const auto own = extents_.of_loop.find(*loop.statement + "." + root);
          own != extents_.of_loop.end())
        return own->second;
    for (const auto& [name, extent] : extents_.of_loop)
      if (name.substr(name.find('.') + 1) == root)
        return extent;
    return kUnknownExtent;
  }

  /// What the cut's tiles are cut into again.
  int64_t unit_of(const CutLoop& cut) const {
    for (const CutLoop& other : cuts_)
      if (other.loop == point_loop(cut.loop))
        return other.size;
    return 1;
  }

  std::vector<int64_t> choices_for(const CutLoop& cut) const {
    std::vector<int64_t> choices;
    const int64_t extent = extent_of(cut.loop);
    if (extents_.is_gpu) {
      if (auto fixed = collective_choices(list_, cut.loop.loop, cut.size))
        return *std::move(fixed);
      const int64_t unit = unit_of(cut),
                    most = kind_of(cut) == Knob::Kind::Rows ? kMostOfThread : kMostGpuBlock;
      for (int64_t power = 1; power <= most && power * unit < 2 * extent; power *= 2)
        choices.push_back(power * unit);
      return choices;
    }
    switch (kind_of(cut)) {
    case Knob::Kind::Lanes:
      for (int64_t vectors = 1; vectors <= kMostVectors; ++vectors)
        choices.push_back(vectors * extents_.lanes);
      break;
    case Knob::Kind::Rows:
      for (int64_t rows = 1; rows <= std::min(kMostRows, std::max<int64_t>(extent, 1)); ++rows)
        choices.push_back(rows);
      break;
    default: {
      const int64_t unit = unit_of(cut);
      for (const int64_t parts : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32})
        choices.push_back(rounded_up(std::max<int64_t>(1, (extent + parts - 1) / parts), unit));
      for (int64_t power = 8; power < extent && power <= 4096; power *= 2)
        choices.push_back(rounded_up(power, unit));
    }
    }
    return choices;
  }

  void add(Knob::Kind kind, const std::string& name, std::pair<size_t, size_t> place, int64_t value,
           std::vector<int64_t> choices) {
    for (size_t k = 0; k < knobs_.size(); ++k)
      if (knobs_[k].kind == kind && knobs_[k].value == value && names_[k] == name) {
        knobs_[k].places.push_back(place);
        return;
      }
    choices.push_back(value);
    std::sort(choices.begin(), choices.end());
    choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
    knobs_.push_back({kind, {place}, value, std::move(choices)});
    names_.push_back(name);
  }

  const std::vector<Directive>& list_;
  const Extents& extents_;
  std::vector<CutLoop> cuts_;
  std::vector<Knob> knobs_;
  std::vector<std::string> names_;
};

} // namespace

Extents extents_of(const schedule::Schedule& initial, const schedule::Environment& environment) {
  Extents extents;
  int64_t bytes = 1;
  for (uint32_t s = 0; s < initial.scop.statements.size(); ++s) {
    const program::Statement& text = initial.scop.statements[s].text;
    for (const poly::LoopId loop : poly::path_of(initial.order, poly::StmtId{s}))
      if (const auto run = schedule::longest_run(initial.scop, initial.order, loop))
        extents.of_loop[text.name + "." + initial.order[loop].name] = *run;
    const scalar::Elem elem = initial.scop.tensors[text.tensor].elem;
    bytes = std::max(bytes, scalar::bytes_of(scalar::compute_type(elem)));
  }
  extents.lanes = std::max<int64_t>(2, target::vector_lanes(environment.cpu, bytes));
  extents.threads = environment.cpu.cores;
  extents.is_gpu = environment.gpu.has_value();
  return extents;
}

std::vector<Knob> knobs_of(const std::vector<Directive>& list, const Extents& extents) {
  return Collector(list, extents).knobs();
}

std::vector<Directive> transposed(std::vector<Directive> list, const Knob& knob, int64_t value) {
  for (const auto& [directive, item] : knob.places)
    size_at(list[directive], item) = value;
  // A vector is no wider than its tile of lanes.
  if (knob.kind == Knob::Kind::Lanes || knob.kind == Knob::Kind::Rows)
    for (const CutLoop& cut : cuts_of(list))
      for (Directive& d : list)
        if (auto* vector = std::get_if<Vectorize>(&d);
            vector != nullptr && vector->width && vector->loop == point_loop(cut.loop))
          vector->width = std::min(*vector->width, cut.size);
  fit_instructions(list);
  for (const CutLoop& inner : cuts_of(list))
    for (const CutLoop& outer : cuts_of(list))
      if (inner.loop == point_loop(outer.loop))
        size_at(list[outer.directive], outer.item) = rounded_up(outer.size, inner.size);
  return list;
}

} // namespace kawara::tune
