#include "graph/rewrite/extract.h"

#include "graph/rewrite/match.h"

#include <algorithm>
#include <limits>
#include <map>

namespace kawara::rewrite {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Keeps every node dearer than none, so that of equally cheap graphs the smallest is taken.
constexpr double kSmallest = 1e-12;
constexpr int64_t kSearchSteps = 50'000; ///< of the exact search
constexpr int kRounds = 6;               ///< of changing choices

class Extractor {
public:
  Extractor(const EGraph& egraph, const std::vector<ClassId>& roots, const Cost& cost)
      : egraph_(egraph) {
    for (const ClassId root : roots)
      roots_.push_back(egraph.find(root));
    classes_ = egraph.classes();
    const size_t size = classes_.empty() ? 0 : classes_.back() + size_t{1};
    costs_.resize(size);
    for (const ClassId id : classes_)
      for (const ENode& node : egraph.at(id).nodes)
        costs_[id].push_back(cost_of(id, node, cost));
    colour_.assign(size, 0);
  }

  Choice run(const std::vector<size_t>& given) {
    Choice best = improved(given);
    const Choice other = improved(cheapest_trees());
    if (other.cost < best.cost)
      best = other;
    search(best);
    return best;
  }

  double total(const std::vector<size_t>& choice) {
    now_ += 2;
    reached_.clear();
    double cost = 0;
    for (const ClassId root : roots_)
      if (!walk(root, choice, cost))
        return kNever;
    return cost;
  }

private:
  double cost_of(ClassId id, const ENode& node, const Cost& cost) const {
    const auto& name = egraph_.op_name(node.op);
    Application application{name, egraph_.attributes(node.attributes), {}, {}, nullptr};
    bool is_free = true;
    for (const ClassId operand : node.operands) {
      const EClass& from = egraph_.at(operand);
      application.operands.push_back(from.type ? &*from.type : nullptr);
      application.constant.push_back(from.is_constant);
      is_free = is_free && from.is_constant;
    }
    if (is_free)
      return kSmallest;
    if (egraph_.at(id).type)
      application.result = &*egraph_.at(id).type;
    return std::max(0.0, cost(application)) + kSmallest;
  }

  const ENode& node(ClassId id, size_t at) const { return egraph_.at(id).nodes[at]; }

  /// Marks what `id` needs and adds up its cost; false when a value would need itself.
  bool walk(ClassId id, const std::vector<size_t>& choice, double& cost) {
    if (colour_[id] == now_ + 1)
      return true;
    if (colour_[id] == now_)
      return false;
    colour_[id] = now_;
    reached_.push_back(id);
    cost += costs_[id][choice[id]];
    for (const ClassId operand : node(id, choice[id]).operands)
      if (!walk(egraph_.find(operand), choice, cost))
        return false;
    colour_[id] = now_ + 1;
    return true;
  }

  std::vector<size_t> cheapest_trees() const {
    std::vector<double> best(costs_.size(), kNever);
    std::vector<size_t> choice(costs_.size(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (const ClassId id : classes_)
        for (size_t k = 0; k < costs_[id].size(); ++k) {
          double cost = costs_[id][k];
          for (const ClassId operand : node(id, k).operands)
            cost += best[egraph_.find(operand)];
          if (cost < best[id] * (1 - 1e-12)) {
            best[id] = cost;
            choice[id] = k;
            changed = true;
          }
        }
    }
    return choice;
  }

  Choice improved(std::vector<size_t> choice) {
    double best = total(choice);
    for (int round = 0; round < kRounds; ++round) {
      const double before = best;
      change_one(choice, best);
      change_together(choice, best);
      if (best >= before)
        break;
    }
    return {std::move(choice), best, false};
  }

  void change_one(std::vector<size_t>& choice, double& best) {
    total(choice);
    for (const ClassId id : std::vector<ClassId>(reached_))
      for (size_t k = 0; k < costs_[id].size(); ++k) {
        const size_t old = choice[id];
        if (k == old)
          continue;
        choice[id] = k;
        const double cost = total(choice);
        if (cost < best * (1 - 1e-9))
          best = cost;
        else
          choice[id] = old;
      }
  }

  /// Lets all classes that can be computed from `shared` do so: one large product pays off only
  /// when all its parts are taken from it.
  void change_together(std::vector<size_t>& choice, double& best) {
    total(choice);
    const std::vector<bool> is_used = used();
    std::map<ClassId, std::vector<std::pair<ClassId, size_t>>> readers;
    for (const ClassId id : reached_)
      for (size_t k = 0; k < costs_[id].size(); ++k)
        for (const ClassId operand : node(id, k).operands)
          if (const ClassId shared = egraph_.find(operand); !is_used[shared])
            readers[shared].push_back({id, k});
    for (const auto& [shared, places] : readers) {
      if (places.size() < 2)
        continue;
      std::vector<size_t> changed = choice;
      for (const auto& [id, k] : places)
        changed[id] = k;
      const double cost = total(changed);
      if (cost < best * (1 - 1e-9)) {
        best = cost;
        choice = std::move(changed);
      }
    }
  }

  std::vector<bool> used() const {
    std::vector<bool> flags(costs_.size(), false);
    for (const ClassId id : reached_)
      flags[id] = true;
    return flags;
  }

  /// Depth-first over the classes that are needed and not decided, with the cost so far as bound.
  void search(Choice& best) {
    steps_ = 0;
    std::vector<size_t> choice = best.node;
    std::vector<char> is_decided(costs_.size(), 0);
    std::vector<ClassId> open = roots_;
    decide(open, is_decided, choice, 0, best);
    best.is_proved_best = steps_ < kSearchSteps;
  }

  void decide(std::vector<ClassId> open, std::vector<char>& is_decided, std::vector<size_t>& choice,
              double cost, Choice& best) {
    std::vector<ClassId> mine;
    while (!open.empty()) {
      const ClassId id = open.back();
      open.pop_back();
      if (is_decided[id])
        continue;
      is_decided[id] = 1;
      mine.push_back(id);
      if (costs_[id].size() > 1) {
        branch(id, open, is_decided, choice, cost, best);
        undo(mine, is_decided);
        return;
      }
      choice[id] = 0;
      cost += costs_[id][0];
      for (const ClassId operand : node(id, 0).operands)
        open.push_back(egraph_.find(operand));
    }
    if (cost < best.cost * (1 - 1e-9) && total(choice) < kNever) {
      best.cost = cost;
      best.node = choice;
    }
    undo(mine, is_decided);
  }

  static void undo(const std::vector<ClassId>& mine, std::vector<char>& is_decided) {
    for (const ClassId id : mine)
      is_decided[id] = 0;
  }

  void branch(ClassId id, const std::vector<ClassId>& open, std::vector<char>& is_decided,
              std::vector<size_t>& choice, double cost, Choice& best) {
    for (size_t k = 0; k < costs_[id].size(); ++k) {
      if (++steps_ >= kSearchSteps || cost + costs_[id][k] >= best.cost)
        continue;
      std::vector<ClassId> more = open;
      for (const ClassId operand : node(id, k).operands)
        more.push_back(egraph_.find(operand));
      choice[id] = k;
      decide(std::move(more), is_decided, choice, cost + costs_[id][k], best);
    }
  }

  const EGraph& egraph_;
  std::vector<ClassId> roots_, classes_;
  std::vector<std::vector<double>> costs_; ///< by class and node
  std::vector<uint32_t> colour_;           ///< now_: on the path; now_ + 1: done
  std::vector<ClassId> reached_;
  uint32_t now_ = 0;
  int64_t steps_ = 0;
};

} // namespace

double cost_of_choice(const EGraph& egraph, const std::vector<ClassId>& roots,
                      const std::vector<size_t>& choice, const Cost& cost) {
  return Extractor(egraph, roots, cost).total(choice);
}

Choice extract(const EGraph& egraph, const std::vector<ClassId>& roots,
               const std::vector<size_t>& given, const Cost& cost) {
  return Extractor(egraph, roots, cost).run(given);
}

} // namespace kawara::rewrite
