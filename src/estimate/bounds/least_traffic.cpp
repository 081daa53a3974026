#include "estimate/bounds/least_traffic.h"

#include "estimate/bounds/brascamp_lieb.h"
#include "estimate/bounds/statement_accesses.h"
#include "scalar/loads.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kawara::estimate {
namespace {

constexpr size_t kMostMaps = 5;       ///< of a statement; leaving some out bounds less
constexpr size_t kMostTakenApart = 6; ///< loops of which all subsets are tried
constexpr double kLongest = 64;       ///< of a loop that is taken apart
/// Exponents are exact, powers are not: so much less is claimed.
constexpr double kRounding = 1e-9;

/// |V| <= factor * (bytes of all tensors) ^ exponent.
struct Growth {
  double log_factor = 0, exponent = 0;
};

/// Iterations that touch x bytes of each access and K in all are at most `repeats` times the
/// product of (x_t / bytes_t) ^ s_t; accesses of one tensor may share their elements.
Growth growth_of(const std::vector<AccessMap>& maps, const Row& s, const program::Program& program,
                 double log_repeats) {
  std::map<uint32_t, double> of_tensor;
  Growth made{log_repeats, 0};
  for (size_t j = 0; j < maps.size(); ++j) {
    of_tensor[maps[j].tensor] += s[j].value();
    made.exponent += s[j].value();
  }
  for (const auto& [tensor, power] : of_tensor) {
    if (power == 0)
      continue;
    const auto bytes = static_cast<double>(scalar::bytes_of(program.tensors[tensor].elem));
    // The product is largest where x_t is in proportion to the powers.
    made.log_factor += power * std::log(power / made.exponent / bytes);
  }
  return made;
}

double most_iterations(const Growth& g, double bytes) {
  return std::exp(g.log_factor + g.exponent * std::log(bytes));
}

/// Loads of a run of so many iterations.
double loads_of(const Growth& g, double iterations, double fast_bytes) {
  if (g.exponent <= 0)
    return 0;
  // In one stretch: all that it touches, but for what was there.
  double best = std::exp((std::log(iterations) - g.log_factor) / g.exponent) - fast_bytes;
  if (g.exponent <= 1)
    return std::max(best, 0.0);
  // In stretches that load T: all but the last are whole.
  for (const double share : {0.125, 0.25, 0.5, 1.0, 2.0, 4.0}) {
    const double stretch = share * fast_bytes / (g.exponent - 1);
    const double stretches = iterations / most_iterations(g, fast_bytes + stretch);
    best = std::max(best, stretch * (std::ceil(stretches * (1 - kRounding)) - 1));
  }
  return std::max(best, 0.0);
}

/// The maps without some iterators, which have fixed values.
std::vector<FractionMatrix> without(const std::vector<AccessMap>& maps,
                                    const std::vector<bool>& is_fixed) {
  std::vector<FractionMatrix> made;
  for (const AccessMap& map : maps) {
    FractionMatrix rows;
    for (const Row& row : map.rows) {
      Row kept;
      for (size_t k = 0; k < row.size(); ++k)
        if (!is_fixed[k])
          kept.push_back(row[k]);
      rows.push_back(std::move(kept));
    }
    made.push_back(std::move(rows));
  }
  return made;
}

/// Whether the element says which values the fixed iterators have.
bool tells(const AccessMap& map, const std::vector<bool>& is_fixed) {
  const size_t n = is_fixed.size(), rank = reduced(map.rows).size();
  FractionMatrix rows = map.rows;
  for (size_t k = 0; k < n; ++k)
    if (is_fixed[k]) {
      Row one(n);
      one[k] = 1;
      rows.push_back(std::move(one));
    }
  return reduced(std::move(rows)).size() == rank;
}

class Bounds {
public:
  Bounds(const program::Program& program, const StatementAccesses& accesses, double fast_bytes)
      : program_(program), accesses_(accesses), maps_(accesses.maps), fast_bytes_(fast_bytes) {
    if (maps_.size() > kMostMaps)
      maps_.resize(kMostMaps);
  }

  StatementBound best() {
    best_.name = accesses_.name;
    if (accesses_.instances < 1 || maps_.empty() || accesses_.extents.empty())
      return best_;
    std::vector<size_t> shorts;
    for (size_t k = 0; k < accesses_.extents.size(); ++k)
      if (const auto extent = accesses_.extents[k]; extent && *extent <= kLongest)
        shorts.push_back(k);
    if (shorts.size() > kMostTakenApart)
      shorts.resize(kMostTakenApart);
    for (size_t subset = 0; subset < size_t{1} << shorts.size(); ++subset) {
      std::vector<bool> is_fixed(accesses_.extents.size(), false);
      for (size_t k = 0; k < shorts.size(); ++k)
        is_fixed[shorts[k]] = (subset >> k & 1U) != 0;
      try_with(is_fixed);
    }
    for (const AccessMap& map : maps_)
      best_.tensors.push_back(program_.tensors[map.tensor].name);
    return best_;
  }

private:
  /// All iterations are those of as many smaller nests as the fixed iterators have values. Where an
  /// access tells them apart, its elements are shared out among these nests, and by Hoelder's
  /// inequality the sum over N nests is at most N ^ (1 - the exponents of such accesses) times what
  /// one would have with all of them.
  void try_with(const std::vector<bool>& is_fixed) {
    const auto fixed = static_cast<size_t>(std::count(is_fixed.begin(), is_fixed.end(), true));
    if (fixed == is_fixed.size())
      return;
    double log_nests = 0;
    for (size_t k = 0; k < is_fixed.size(); ++k)
      log_nests += is_fixed[k] ? std::log(std::max(*accesses_.extents[k], 1.0)) : 0;
    for (const Row& s : exponents(without(maps_, is_fixed), is_fixed.size() - fixed)) {
      double shared_out = 0;
      for (size_t j = 0; j < maps_.size(); ++j)
        shared_out += tells(maps_[j], is_fixed) ? s[j].value() : 0;
      const double repeats = log_nests * std::max(0.0, 1 - shared_out);
      const double bytes =
          loads_of(growth_of(maps_, s, program_, repeats), accesses_.instances, fast_bytes_) *
          (1 - kRounding);
      if (bytes <= best_.bytes)
        continue;
      best_.bytes = bytes;
      best_.exponents.clear();
      for (const Rational& each : s)
        best_.exponents.push_back(each.value());
    }
  }

  const program::Program& program_;
  const StatementAccesses& accesses_;
  std::vector<AccessMap> maps_;
  double fast_bytes_;
  StatementBound best_;
};

/// Bytes that begin in fast memory: each time that an element is set anew.
double set_bytes(const program::Program& program, const std::vector<StatementAccesses>& all,
                 const StatementAccesses& of) {
  double bytes = 0;
  std::vector<bool> is_counted(program.tensors.size(), false);
  for (const AccessMap& map : of.maps) {
    if (is_counted[map.tensor])
      continue;
    is_counted[map.tensor] = true;
    for (size_t s = 0; s < program.statements.size(); ++s)
      if (program.statements[s].tensor == map.tensor &&
          program.statements[s].op == scalar::ReduceOp::None)
        bytes += all[s].instances *
                 static_cast<double>(scalar::bytes_of(program.tensors[map.tensor].elem));
  }
  return bytes;
}

/// Elements that a map takes a box to, where each of its dimensions has an iterator of its own and
/// the iterations are all of the box.
double elements_of(const StatementAccesses& accesses, const AccessMap& map) {
  double box = 1, elements = 1;
  std::vector<bool> is_used(accesses.extents.size(), false);
  for (const auto& extent : accesses.extents) {
    if (!extent)
      return 0;
    box *= *extent;
  }
  if (box != accesses.instances)
    return 0;
  for (const Row& row : map.rows)
    for (size_t k = 0; k < row.size(); ++k) {
      if (row[k].is_zero())
        continue;
      const size_t others = static_cast<size_t>(
          std::count_if(row.begin(), row.end(), [](const Rational& x) { return !x.is_zero(); }));
      if (others > 1 || is_used[k])
        return 0;
      is_used[k] = true;
      elements *= *accesses.extents[k];
    }
  return elements;
}

/// Of inputs that nothing stores to.
double input_bytes(const program::Program& program, const std::vector<StatementAccesses>& all) {
  std::vector<double> most(program.tensors.size(), 0);
  for (const StatementAccesses& accesses : all)
    for (const AccessMap& map : accesses.maps)
      most[map.tensor] = std::max(most[map.tensor], elements_of(accesses, map));
  double bytes = 0;
  for (size_t t = 0; t < most.size(); ++t)
    if (program.tensors[t].role == program::Role::Input)
      bytes += most[t] * static_cast<double>(scalar::bytes_of(program.tensors[t].elem));
  return bytes;
}

/// Which statements compute from constants alone: the first call runs them, others do not.
std::vector<bool> prepared_statements(const program::Program& program) {
  std::vector<bool> made(program.statements.size(), false);
  const auto is_constant = [&](uint32_t tensor) {
    if (program.tensors[tensor].role == program::Role::Input)
      return program.tensors[tensor].is_constant;
    if (program.tensors[tensor].role != program::Role::Temp)
      return false;
    for (size_t s = 0; s < made.size(); ++s)
      if (program.statements[s].tensor == tensor && !made[s])
        return false;
    return true;
  };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (size_t s = 0; s < made.size(); ++s) {
      if (made[s])
        continue;
      bool is_prepared = true;
      for (const scalar::Load* load : scalar::loads_in(program.statements[s].value))
        is_prepared = is_prepared && is_constant(load->tensor);
      made[s] = is_prepared;
      has_changed = has_changed || is_prepared;
    }
  }
  return made;
}

} // namespace

LeastTraffic least_traffic(const program::Program& program, std::span<const int64_t> sizes,
                           const Work& work, const FastMemory& fast) {
  std::vector<double> instances;
  for (const StatementWork& each : work.statements)
    instances.push_back(each.instances);
  const std::vector<StatementAccesses> all = statement_accesses(program, sizes, instances);
  LeastTraffic made;
  made.inputs = input_bytes(program, all);
  made.bytes = std::max(made.inputs - (fast.is_empty_before ? 0 : fast.bytes), 0.0);
  const std::vector<bool> is_prepared = prepared_statements(program);
  for (size_t s = 0; s < all.size(); ++s) {
    const StatementAccesses& accesses = all[s];
    // What an earlier call computed is not computed again.
    if (is_prepared[s] && !fast.is_empty_before) {
      made.statements.push_back({accesses.name, 0, {}, {}});
      continue;
    }
    StatementBound bound = Bounds(program, accesses, fast.bytes).best();
    if (!fast.fetches_for_stores)
      bound.bytes = std::max(0.0, bound.bytes - set_bytes(program, all, accesses));
    if (bound.bytes > made.bytes) {
      made.bytes = bound.bytes;
      made.decided_by = bound.name;
    }
    made.statements.push_back(std::move(bound));
  }
  return made;
}

} // namespace kawara::estimate
