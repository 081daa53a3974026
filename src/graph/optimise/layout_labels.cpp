#include "graph/optimise/layout_labels.h"

#include "graph/optimise/min_cut.h"

#include <algorithm>

namespace kawara::graph::optimise {
namespace {

/// Layouts beyond this many are rare, and pairs of them many.
constexpr size_t kMostLayouts = 6;
constexpr double kLeastSaved = 1e-9;

class Labeller {
public:
  Labeller(const LayoutRegion& region, const NodeSeconds& node_seconds)
      : region_(region), node_seconds_(node_seconds) {
    for (const FreeNode& node : region.nodes)
      labels_.push_back(node.dims);
  }

  LayoutLabels written() const { return {labels_, seconds(), transposes()}; }

  LayoutLabels cheapest() {
    const std::vector<DimOrder> all = layouts();
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (size_t a = 0; a < all.size(); ++a)
        for (size_t b = a + 1; b < all.size(); ++b)
          is_changed = exchange(all[a], all[b]) || is_changed;
    }
    return written();
  }

private:
  /// The layout that a source has, and the one that somebody wants it in.
  DimOrder label_of(const LayoutSource& source) const {
    return source.maker ? labels_[*source.maker] : source.dims;
  }
  DimOrder label_of(const LayoutSource& source, const LayoutDemand& demand) const {
    return demand.reader ? labels_[*demand.reader] : after(source.dims, demand.order);
  }

  /// Those that inputs, operators with an order of their own, and the nodes themselves have.
  std::vector<DimOrder> layouts() const {
    std::vector<DimOrder> all;
    const auto note = [&](const DimOrder& layout) {
      if (std::find(all.begin(), all.end(), layout) == all.end() && all.size() < kMostLayouts)
        all.push_back(layout);
    };
    for (const LayoutSource& source : region_.sources) {
      note(label_of(source));
      for (const LayoutDemand& demand : source.demands)
        note(label_of(source, demand));
    }
    return all;
  }

  /// Layouts besides its own that a source is wanted in.
  std::vector<DimOrder> wanted(const LayoutSource& source) const {
    std::vector<DimOrder> others;
    for (const LayoutDemand& demand : source.demands) {
      const DimOrder label = label_of(source, demand);
      if (label != label_of(source) &&
          std::find(others.begin(), others.end(), label) == others.end())
        others.push_back(label);
    }
    return others;
  }

  size_t transposes() const {
    size_t count = 0;
    for (const LayoutSource& source : region_.sources)
      count += wanted(source).size();
    return count;
  }

  double seconds() const {
    double sum = 0;
    for (const LayoutSource& source : region_.sources)
      sum += source.seconds * static_cast<double>(wanted(source).size());
    for (size_t n = 0; n < labels_.size(); ++n)
      sum += node_seconds_(region_.nodes[n], labels_[n]);
    return sum;
  }

  /// Lets every node that has one of two layouts have the other; true when that was cheaper.
  bool exchange(const DimOrder& first, const DimOrder& second) {
    MinCut cut;
    std::vector<size_t> vertices(labels_.size(), MinCut::kFirst);
    std::vector<bool> may_move(labels_.size(), false);
    for (size_t n = 0; n < labels_.size(); ++n) {
      may_move[n] = labels_[n] == first || labels_[n] == second;
      if (!may_move[n])
        continue;
      vertices[n] = cut.add_vertex();
      cut.add_edge(vertices[n], MinCut::kSecond, node_seconds_(region_.nodes[n], first));
      cut.add_edge(MinCut::kFirst, vertices[n], node_seconds_(region_.nodes[n], second));
    }
    const auto vertex_of = [&](std::optional<size_t> node,
                               const DimOrder& label) -> std::optional<size_t> {
      if (node && may_move[*node])
        return vertices[*node];
      return label == first    ? std::optional(MinCut::kFirst)
             : label == second ? std::optional(MinCut::kSecond)
                               : std::nullopt;
    };
    for (const LayoutSource& source : region_.sources) {
      std::vector<size_t> readers;
      for (const LayoutDemand& demand : source.demands)
        if (const auto vertex = vertex_of(demand.reader, label_of(source, demand)))
          readers.push_back(*vertex);
      add_source(cut, vertex_of(source.maker, label_of(source)), readers, source.seconds);
    }
    const std::vector<bool> is_second = cut.solve();
    const std::vector<DimOrder> old = labels_;
    const double before = seconds();
    for (size_t n = 0; n < labels_.size(); ++n)
      if (may_move[n])
        labels_[n] = is_second[vertices[n]] ? second : first;
    if (seconds() < before - kLeastSaved)
      return true;
    labels_ = old;
    return false;
  }

  /// One transposition serves all readers on the other side; a source of a third layout needs one
  /// for each side.
  static void add_source(MinCut& cut, std::optional<size_t> maker,
                         const std::vector<size_t>& readers, double seconds) {
    const size_t some_second = cut.add_vertex(), some_first = cut.add_vertex();
    cut.add_edge(maker.value_or(MinCut::kFirst), some_second, seconds);
    cut.add_edge(some_first, maker.value_or(MinCut::kSecond), seconds);
    for (const size_t reader : readers) {
      cut.add_edge(some_second, reader, MinCut::kNever);
      cut.add_edge(reader, some_first, MinCut::kNever);
    }
  }

  const LayoutRegion& region_;
  const NodeSeconds& node_seconds_;
  std::vector<DimOrder> labels_;
};

} // namespace

LayoutLabels written_labels(const LayoutRegion& region, const NodeSeconds& seconds) {
  return Labeller(region, seconds).written();
}

LayoutLabels cheapest_labels(const LayoutRegion& region, const NodeSeconds& seconds) {
  return Labeller(region, seconds).cheapest();
}

} // namespace kawara::graph::optimise
