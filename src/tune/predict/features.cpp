#include "tune/predict/features.h"

#include "schedule/auto/facts/access_table.h"
#include "schedule/tree/resolve.h"
#include "schedule/unproved.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

namespace kawara::tune {
namespace {

using schedule::Move;

/// Indices of the features; the names follow below in the same order.
enum Feature : size_t {
  kInstances,
  kLoops,
  kInnermost,
  kVectorWidth,
  kIsVector,
  kLanesUsed,
  kUnit,
  kFar,
  kNone,
  kWritesStay,
  kUnrolled,
  kAccumulators,
  kChain,
  kResult,
  kSpills,
  kLoadsPerInstance,
  kWaste,
  kParallel,
  kImbalance,
  kChunk,
  kBeyondL1,
  kBeyondL2,
  kBeyondL3,
  kInnerBytes,
  kReduction,
  kTripsAround,
  kPacks,
  kPartial,
  kStores,
  kInstructions,
  kDirectives,
  kCost,
  kFeatures
};
constexpr std::array<std::string_view, kFeatures> kFeatureNames{
    "instances",    "loops",        "innermost length",
    "vector width", "is vector",    "lanes used",
    "unit strides", "far strides",  "stays",
    "writes stay",  "unrolled",     "accumulators",
    "chain",        "result moves", "spills",
    "loads",        "waste",        "parallel length",
    "imbalance",    "thread work",  "beyond l1",
    "beyond l2",    "beyond l3",    "inner bytes",
    "reduction",    "trips around", "packs",
    "partial",      "stores",       "instructions",
    "directives",   "cost"};

constexpr double kUnknownLength = 1024;
/// How much faster than plain loops an instruction for products is, roughly.
constexpr double kInstructionGain = 8;
/// log2 of registers that are missing.
constexpr double kMostSpills = 3;
/// Cycles until a sum can be added to again.
constexpr double kLatency = 4;
/// Vectors of a loop that the code generator unrolls by itself.
constexpr double kUnrolledVectors = 4;
/// Partial sums go through memory.
constexpr double kPartialLoss = 1.5;

double log_of(double x) { return std::log2(std::max(x, 0.0) + 1); }

/// One loop around a statement.
struct Level {
  double extent = 1;
  poly::Marks marks;
  std::vector<uint32_t> tensors; ///< of the accesses: the write first
  std::vector<Move> moves;       ///< of the same
};

class Counter {
public:
  Counter(const schedule::Schedule& schedule, const Space& space)
      : schedule_(schedule), space_(space), cpu_(space.environment().cpu) {}

  Features count(const std::vector<Directive>& directives) {
    note_packed(directives);
    double all = 0;
    std::vector<std::pair<double, Features>> statements;
    for (uint32_t s = 0; s < schedule_.scop.statements.size(); ++s)
      if (!schedule_.scop.statements[s].is_removed) {
        statements.push_back(statement(poly::StmtId{s}));
        all += statements.back().first;
      }
    Features sum(kFeatures, 0);
    double cost = 0;
    for (auto& [instances, own] : statements) {
      for (size_t f = 0; f < kFeatures; ++f)
        sum[f] += own[f] * instances / std::max(all, 1.0);
      cost += own[kCost];
    }
    sum[kInstances] = log_of(all);
    sum[kDirectives] = static_cast<double>(directives.size());
    for (const Directive& directive : directives) {
      const bool is_partial = std::holds_alternative<schedule::Rfactor>(directive);
      sum[kPartial] += is_partial ? 1 : 0;
      sum[kPacks] += !is_partial && added_statements(directive) > 0 ? 1 : 0;
      sum[kStores] += std::holds_alternative<schedule::StoreAt>(directive) ? 1 : 0;
      sum[kInstructions] += std::holds_alternative<schedule::Tensorize>(directive) ? 1 : 0;
    }
    if (sum[kInstructions] > 0)
      cost /= kInstructionGain;
    if (sum[kPartial] > 0)
      cost *= kPartialLoss;
    sum[kCost] = std::log2(std::max(cost, 1.0));
    return sum;
  }

private:
  /// Tensors that are read from a packed copy, whose elements lie in the order of the loops.
  void note_packed(const std::vector<Directive>& directives) {
    for (const Directive& directive : directives) {
      const auto* pack = std::get_if<schedule::Pack>(&directive);
      // Where `auto` cannot be written as steps, it is its own only one.
      if (std::holds_alternative<schedule::Auto>(directive) && &directives != &space_.steps())
        note_packed(space_.steps());
      for (uint32_t t = 0; pack != nullptr && t < schedule_.scop.tensors.size(); ++t)
        if (schedule_.scop.tensors[t].name == pack->tensor)
          packed_.insert(t);
    }
  }

  /// Is the result's element kept in registers while the loop around the unrolled ones runs?
  static bool is_carried(const std::vector<Level>& levels) {
    size_t k = levels.size();
    while (k > 0 && (levels[k - 1].marks.unroll == poly::kFullUnroll ||
                     levels[k - 1].marks.vector_width > 0))
      --k;
    return k > 0 && !levels[k - 1].moves.empty() && levels[k - 1].moves.front() == Move::None;
  }

  /// Length of the source's loop over an iterator.
  double length_of(poly::StmtId id, size_t iterator) const {
    const program::Statement& text = schedule_.scop[id].text;
    const auto& known = space_.surroundings().extents.of_loop;
    const std::string& name = text.iters[iterator];
    if (const auto own = known.find(text.name + "." + name); own != known.end())
      return static_cast<double>(own->second);
    for (const auto& [loop, extent] : known)
      if (loop.substr(loop.find('.') + 1) == name)
        return static_cast<double>(extent);
    return kUnknownLength;
  }

  std::vector<Level> levels_of(poly::StmtId id) const {
    std::vector<Level> levels;
    const auto path = poly::path_of(schedule_.order, id);
    const auto& rows = schedule_.order.rows[id.value];
    const auto accesses = schedule::access_table(schedule_.scop, schedule_.order, id);
    for (size_t row = 0; row < path.size(); ++row) {
      const Range values = range_of(rows[row], id);
      const double extent = std::max(1.0, values.high - values.low + 1);
      levels.push_back({extent, schedule_.order[path[row]].marks, {}, {}});
      for (const schedule::LoopAccess& access : accesses) {
        levels.back().tensors.push_back(access.tensor);
        levels.back().moves.push_back(access.moves[row]);
      }
    }
    return levels;
  }

  struct Range {
    double low = 0, high = 0;
  };

  /// Values of a row when every iterator runs through its whole length.
  Range range_of(const scalar::Expr& e, poly::StmtId id) const {
    if (const auto constant = scalar::constant_of(e))
      return {static_cast<double>(*constant), static_cast<double>(*constant)};
    if (const auto* iterator = scalar::as<scalar::Iter>(e))
      return {0, length_of(id, iterator->index) - 1};
    const auto* binary = scalar::as<scalar::Binary>(e);
    if (binary == nullptr)
      return {0, kUnknownLength - 1};
    const Range a = range_of(binary->lhs, id), b = range_of(binary->rhs, id);
    switch (binary->op) {
    case scalar::BinaryOp::Add:
      return {a.low + b.low, a.high + b.high};
    case scalar::BinaryOp::Sub:
      return {a.low - b.high, a.high - b.low};
    case scalar::BinaryOp::Mul:
      return {std::min(a.low * b.low, a.low * b.high), std::max(a.high * b.low, a.high * b.high)};
    case scalar::BinaryOp::FloorDiv:
      return {std::floor(a.low / std::max(b.high, 1.0)),
              std::floor(a.high / std::max(b.high, 1.0))};
    case scalar::BinaryOp::Mod:
      return {0, std::min(std::max(a.high, 0.0), b.high - 1)};
    default:
      return {0, kUnknownLength - 1};
    }
  }

  std::pair<double, Features> statement(poly::StmtId id) const {
    const std::vector<Level> levels = levels_of(id);
    Features f(kFeatures, 0);
    double padded = 1;
    for (const Level& level : levels)
      padded *= level.extent;
    double instances = 1;
    for (size_t k = 0; k < schedule_.scop[id].text.iters.size(); ++k)
      instances *= std::max(1.0, length_of(id, k));
    f[kLoops] = static_cast<double>(levels.size());
    f[kWaste] = std::log2(std::clamp(padded / instances, 1.0, 1024.0));
    if (!levels.empty()) {
      innermost(id, levels, f);
      body(id, levels, f);
      threads(levels, instances, f);
      traffic(id, levels, instances, f);
    }
    f[kCost] = cost_of(f, instances);
    return {instances, std::move(f)};
  }

  /// Steps of a vectorised loop over so many elements. What is left of a row behind vectors of one
  /// register is computed in halves of it, behind wider ones element by element.
  double steps_of(const poly::Marks& marks, double elements) const {
    const auto lanes =
        static_cast<double>(std::max<int64_t>(space_.surroundings().extents.lanes, 1));
    const auto width = static_cast<double>(std::max<int64_t>(marks.vector_width, 1));
    const double rows = std::floor(elements / width), left = elements - rows * width;
    const bool is_halved = width <= lanes || marks.unroll == poly::kFullUnroll;
    const double registers = is_halved ? std::floor(left / lanes) : 0;
    const double rest = left - registers * lanes;
    return rows * std::max(1.0, width / lanes) + registers +
           (is_halved ? std::popcount(static_cast<uint64_t>(rest)) : rest);
  }

  /// Elements that a step of the innermost loop computes on the average; the last tile of a row may
  /// be short.
  double elements_a_step(poly::StmtId id, const Level& last) const {
    if (last.marks.vector_width <= 1)
      return 1;
    double all = last.extent;
    const auto& rows = schedule_.order.rows[id.value];
    if (const size_t depth = poly::path_of(schedule_.order, id).size(); depth > 0)
      scalar::visit(rows[depth - 1], [&](const scalar::Expr& e) {
        if (const auto* iterator = scalar::as<scalar::Iter>(e))
          all = std::max(last.extent, length_of(id, iterator->index));
      });
    const double tiles = std::floor(all / last.extent), left = all - tiles * last.extent;
    return all / (tiles * steps_of(last.marks, last.extent) + steps_of(last.marks, left));
  }

  void innermost(poly::StmtId id, const std::vector<Level>& levels, Features& f) const {
    const Level& last = levels.back();
    f[kInnermost] = log_of(last.extent);
    f[kVectorWidth] = static_cast<double>(std::max<int64_t>(last.marks.vector_width, 1));
    f[kIsVector] = last.marks.vector_width > 0 ? 1 : 0;
    f[kLanesUsed] = std::log2(elements_a_step(id, last));
    for (size_t a = 0; a < last.moves.size(); ++a) {
      const Move move = last.moves[a];
      const bool is_near =
          (a == 0 && is_carried(levels)) || (a > 0 && packed_.contains(last.tensors[a]));
      f[kUnit] += move == Move::Unit || (move == Move::Far && is_near) ? 1 : 0;
      f[kFar] += move == Move::Far && !is_near ? 1 : 0;
      f[kNone] += move == Move::None ? 1 : 0;
    }
    f[kWritesStay] = !last.moves.empty() && last.moves.front() == Move::None ? 1 : 0;
    for (const Level& level : levels)
      f[kReduction] += !level.moves.empty() && level.moves.front() == Move::None ? 1 : 0;
  }

  /// The unrolled loops from the inside out: what stays in registers, what is loaded for it.
  void body(poly::StmtId, const std::vector<Level>& levels, Features& f) const {
    const double lanes = static_cast<double>(space_.surroundings().extents.lanes);
    const size_t accesses = levels.back().moves.size();
    std::vector<double> registers(accesses, 1);
    double copies = 1, sums = 1, lanes_apart = 1, trips = 1;
    size_t around = levels.size(); ///< the loop around the body
    while (around > 0) {
      const Level& level = levels[--around];
      const bool is_vector = level.marks.vector_width > 0;
      const double width = static_cast<double>(level.marks.vector_width);
      // Short loops over whole vectors are unrolled without being told.
      const bool is_short = is_vector && level.extent <= kUnrolledVectors * width &&
                            (width <= lanes || std::fmod(level.extent, width) == 0);
      const bool is_whole = level.marks.unroll == poly::kFullUnroll || is_short;
      const double length = is_whole                 ? level.extent
                            : level.marks.unroll > 0 ? static_cast<double>(level.marks.unroll)
                                                     : width;
      trips = std::max(1.0, level.extent / std::max(length, 1.0));
      if (length == 0)
        break;
      const double steps = is_vector ? std::max(1.0, length / lanes) : length;
      copies *= steps;
      for (size_t a = 0; a < accesses; ++a)
        if (level.moves[a] != Move::None)
          registers[a] *= steps;
      // A sum over the lanes of vectors is one sum a register, added up at the end.
      if (accesses > 0 && level.moves[0] == Move::None)
        (is_vector ? lanes_apart : sums) *= steps;
      if (!is_whole && (is_vector || trips > 1))
        break;
    }
    double loads = 0;
    for (size_t a = 1; a < accesses; ++a)
      loads += registers[a];
    f[kUnrolled] = log_of(copies);
    f[kAccumulators] = log_of(accesses > 0 ? registers[0] : 1);
    const double used = (accesses > 0 ? registers[0] : 1) + std::min(loads, 8.0);
    const auto& gpu = space_.environment().gpu;
    const int64_t there = gpu ? gpu->registers_per_thread : cpu_.vector_registers;
    f[kSpills] = log_of(std::max(0.0, used - static_cast<double>(there)));
    f[kLoadsPerInstance] = loads / copies;
    f[kTripsAround] = log_of(trips);
    const bool is_carried =
        accesses > 0 && !levels.empty() && trips > 1 && levels[around].moves[0] == Move::None;
    const double apart = std::max(1.0, (accesses > 0 ? registers[0] : 1) * lanes_apart);
    f[kChain] = is_carried || sums > 1 || f[kWritesStay] > 0 ? kLatency / apart : 0;
    f[kResult] = f[kReduction] > 0 ? 1 / (sums * (is_carried ? trips : 1)) : 1;
  }

  void threads(const std::vector<Level>& levels, double instances, Features& f) const {
    const auto cores = static_cast<double>(std::max<int64_t>(cpu_.cores, 1));
    double outside = 1;
    for (const Level& level : levels) {
      if (level.marks.is_parallel) {
        const double rounds = std::ceil(level.extent / cores);
        f[kParallel] = log_of(level.extent);
        f[kImbalance] = rounds * cores / level.extent;
        f[kChunk] = log_of(instances / outside / std::min(level.extent, cores));
        return;
      }
      outside *= level.extent;
    }
    f[kImbalance] = cores;
  }

  /// Bytes that one statement brings in from beyond each cache: the elements that fit are brought
  /// in once for each iteration of the loops around them that moves some access.
  void traffic(poly::StmtId id, const std::vector<Level>& levels, double instances,
               Features& f) const {
    const auto bytes = static_cast<double>(
        scalar::bytes_of(schedule_.scop.tensors[schedule_.scop[id].text.tensor].elem));
    const size_t accesses = levels.back().moves.size();
    // footprint[d]: bytes of all accesses below the first d loops.
    std::vector<double> footprint(levels.size() + 1, bytes * static_cast<double>(accesses));
    std::vector<double> elements(accesses, 1);
    for (size_t d = levels.size(); d-- > 0;) {
      double sum = 0;
      for (size_t a = 0; a < accesses; ++a) {
        if (levels[d].moves[a] != Move::None)
          elements[a] *= levels[d].extent;
        sum += elements[a] * bytes;
      }
      footprint[d] = sum;
    }
    f[kInnerBytes] = log_of(footprint[levels.size() - 1]);
    const int64_t sizes[] = {cpu_.caches.l1d, cpu_.caches.l2,
                             std::max(cpu_.caches.l3, cpu_.caches.l2)};
    const Feature features[] = {kBeyondL1, kBeyondL2, kBeyondL3};
    for (size_t c = 0; c < 3; ++c) {
      size_t d = 0;
      double outside = 1;
      while (d < levels.size() && footprint[d] > static_cast<double>(sizes[c]))
        outside *= levels[d++].extent;
      f[features[c]] = log_of(outside * footprint[d] / instances);
    }
  }

  double cost_of(const Features& f, double instances) const {
    const double width = std::exp2(f[kLanesUsed]);
    const double issue = 0.5 + 0.5 * f[kLoadsPerInstance] + 1.5 * f[kResult] + 2 * f[kSpills];
    const double copies = std::max(1.0, std::exp2(f[kUnrolled]) - 1);
    const double trips = std::max(1.0, std::exp2(f[kTripsAround]) - 1);
    const double around = (1 + 4 / trips) / copies;
    const double across = f[kWritesStay] * f[kIsVector] * 8 / std::exp2(f[kInnermost]);
    const double compute = (std::max(issue, f[kChain]) + around) / width + across +
                           2 * f[kFar] * (f[kIsVector] > 0 ? 1 : 0.5);
    const double memory = 0.02 * (std::exp2(f[kBeyondL1]) - 1) +
                          0.05 * (std::exp2(f[kBeyondL2]) - 1) +
                          0.15 * (std::exp2(f[kBeyondL3]) - 1);
    const auto cores = static_cast<double>(std::max<int64_t>(cpu_.cores, 1));
    const double shared = f[kParallel] > 0 ? f[kImbalance] / cores : 1;
    const double start = f[kParallel] > 0 && cores > 1 ? 5000 : 0;
    return instances * (compute * std::exp2(f[kWaste]) + memory) * shared + start;
  }

  const schedule::Schedule& schedule_;
  const Space& space_;
  const target::Cpu& cpu_;
  std::set<uint32_t> packed_;
};

/// The directives without those that change statements, and what they say about new ones: working
/// out their dependences takes longer than all the rest. `auto` becomes its steps.
std::vector<Directive> without_copies(const Space& space, const Point& point) {
  std::vector<Directive> list;
  for (const Directive& directive : point.directives)
    if (std::holds_alternative<schedule::Auto>(directive))
      list.insert(list.end(), space.steps().begin(), space.steps().end());
    else
      list.push_back(directive);
  for (size_t k = 0; k < list.size();)
    if (added_statements(list[k]) > 0 || std::holds_alternative<schedule::StoreAt>(list[k]))
      list = without(list, k, space.surroundings().statements);
    else
      ++k;
  return list;
}

/// Notes a mark without the questions that its directive would ask; false when there is no such
/// loop.
bool note(schedule::Schedule& schedule, const LoopName& loop,
          const std::function<void(poly::Marks&)>& change) {
  const auto found = schedule::resolve_loop(schedule, loop, "");
  if (found)
    change(schedule.order[*found].marks);
  return static_cast<bool>(found);
}

/// The order that the directives would make; marks are only noted, which is quick.
std::optional<schedule::Schedule> order_of(const Space& space, const Point& point) {
  schedule::Schedule at = space.initial();
  const auto list = without_copies(space, point);
  for (const Directive& directive : list) {
    bool is_fine = true;
    // These ask about the copies that are left out here.
    if (std::holds_alternative<schedule::Pipeline>(directive) ||
        std::holds_alternative<schedule::Tensorize>(directive))
      continue;
    if (const auto* unroll = std::get_if<schedule::Unroll>(&directive)) {
      is_fine = note(at, unroll->loop, [&](poly::Marks& marks) {
        marks.unroll = unroll->factor.value_or(poly::kFullUnroll);
      });
    } else if (const auto* vector = std::get_if<schedule::Vectorize>(&directive)) {
      is_fine = note(at, vector->loop, [&](poly::Marks& marks) {
        marks.vector_width = vector->width.value_or(space.surroundings().extents.lanes);
      });
    } else if (const auto* parallel = std::get_if<schedule::Parallel>(&directive)) {
      is_fine = note(at, parallel->loop, [](poly::Marks& marks) { marks.is_parallel = true; });
    } else if (auto next = schedule::unproved(at, {directive}, space.environment())) {
      at = *std::move(next);
    } else {
      is_fine = false;
    }
    if (!is_fine)
      return std::nullopt;
  }
  return at;
}

} // namespace

std::vector<std::string_view> feature_names() {
  return {kFeatureNames.begin(), kFeatureNames.end()};
}

std::optional<Features> features_of(const Space& space, const Point& point) {
  const auto schedule = order_of(space, point);
  if (!schedule)
    return std::nullopt;
  return Counter(*schedule, space).count(point.directives);
}

bool overflows_registers(const Features& features) { return features[kSpills] > kMostSpills; }

double analytic_cost(const Features& features) { return std::exp2(features[kCost]); }

} // namespace kawara::tune
