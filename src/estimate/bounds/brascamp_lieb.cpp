#include "estimate/bounds/brascamp_lieb.h"

#include <algorithm>

namespace kawara::estimate {
namespace {

constexpr size_t kMostSubspaces = 200;
constexpr size_t kMostCorners = 20000; ///< systems that are solved

/// sum of factor[j] * s[j] >= least
struct Constraint {
  Row factors;
  Rational least;
  friend bool operator==(const Constraint&, const Constraint&) = default;
};

/// All sums and intersections of the kernels, again and again; empty where they do not end soon.
std::vector<Subspace> lattice(const std::vector<FractionMatrix>& maps, size_t n) {
  std::vector<Subspace> all;
  const auto add = [&](const Subspace& each) {
    if (each.dimension() > 0 && std::find(all.begin(), all.end(), each) == all.end())
      all.push_back(each);
  };
  FractionMatrix everything;
  for (size_t k = 0; k < n; ++k) {
    Row row(n);
    row[k] = 1;
    everything.push_back(std::move(row));
  }
  add({n, everything});
  for (const FractionMatrix& map : maps)
    add(kernel_of(map, n));
  for (size_t a = 0; a < all.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      const Subspace first = all[a], second = all[b];
      add(sum(first, second));
      add(intersection(first, second));
      if (all.size() > kMostSubspaces)
        return {};
    }
  return all;
}

/// Whether what `a` asks for is asked for by `b` already, of numbers that are not negative.
bool follows(const Constraint& a, const Constraint& b) {
  if (b.least < a.least)
    return false;
  for (size_t j = 0; j < a.factors.size(); ++j)
    if (a.factors[j] < b.factors[j])
      return false;
  return true;
}

/// Whether two others of smaller subspaces ask for as much together.
bool follows_from_two(const Constraint& a, const std::vector<Constraint>& all) {
  for (size_t k = 0; k < all.size(); ++k)
    for (size_t j = 0; j < k; ++j) {
      if (!(all[k].least < a.least) || !(all[j].least < a.least))
        continue;
      Constraint both{all[k].factors, all[k].least + all[j].least};
      for (size_t m = 0; m < both.factors.size(); ++m)
        both.factors[m] = both.factors[m] + all[j].factors[m];
      if (follows(a, both))
        return true;
    }
  return false;
}

std::vector<Constraint> without_followers(const std::vector<Constraint>& all) {
  std::vector<Constraint> kept;
  for (size_t k = 0; k < all.size(); ++k) {
    bool is_needed = !follows_from_two(all[k], all);
    for (size_t j = 0; j < all.size() && is_needed; ++j)
      is_needed = j == k || !follows(all[k], all[j]) || (follows(all[j], all[k]) && k < j);
    if (is_needed)
      kept.push_back(all[k]);
  }
  return kept;
}

std::vector<Constraint> constraints_of(const std::vector<FractionMatrix>& maps,
                                       const std::vector<Subspace>& subspaces) {
  std::vector<Constraint> all;
  for (const Subspace& subspace : subspaces) {
    Constraint made{{}, static_cast<int64_t>(subspace.dimension())};
    for (const FractionMatrix& map : maps)
      made.factors.emplace_back(static_cast<int64_t>(image_dimension(map, subspace)));
    all.push_back(std::move(made));
  }
  return without_followers(all);
}

bool holds(const Constraint& constraint, const Row& s) {
  Rational sum;
  for (size_t j = 0; j < s.size(); ++j)
    sum = sum + constraint.factors[j] * s[j];
  return !(sum < constraint.least);
}

class Corners {
public:
  Corners(std::vector<Constraint> all, size_t m) : all_(std::move(all)), m_(m) {
    for (size_t j = 0; j < m; ++j) {
      Row one(m), less(m);
      one[j] = 1;
      less[j] = -1;
      all_.push_back({one, 0});
      all_.push_back({less, -1});
    }
  }

  std::vector<Row> find() {
    choose(0);
    return is_too_much_ ? std::vector<Row>{} : std::move(found_);
  }

private:
  void choose(size_t from) {
    if (is_too_much_)
      return;
    if (chosen_.size() == m_)
      return solve();
    for (size_t k = from; k < all_.size(); ++k) {
      chosen_.push_back(k);
      choose(k + 1);
      chosen_.pop_back();
    }
  }
  void solve() {
    is_too_much_ = ++solved_ > kMostCorners;
    FractionMatrix a;
    Row b;
    for (const size_t k : chosen_) {
      a.push_back(all_[k].factors);
      b.push_back(all_[k].least);
    }
    const auto s = solution(std::move(a), b);
    if (s && std::find(found_.begin(), found_.end(), *s) == found_.end() &&
        std::all_of(all_.begin(), all_.end(), [&](const auto& each) { return holds(each, *s); }))
      found_.push_back(*s);
  }

  std::vector<Constraint> all_;
  size_t m_;
  std::vector<size_t> chosen_;
  std::vector<Row> found_;
  size_t solved_ = 0;
  bool is_too_much_ = false;
};

} // namespace

std::vector<Row> exponents(const std::vector<FractionMatrix>& maps, size_t n) {
  if (n == 0 || maps.empty())
    return {};
  const std::vector<Subspace> subspaces = lattice(maps, n);
  if (subspaces.empty())
    return {};
  return Corners(constraints_of(maps, subspaces), maps.size()).find();
}

} // namespace kawara::estimate
