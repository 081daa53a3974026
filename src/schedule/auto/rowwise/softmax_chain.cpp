#include "schedule/auto/rowwise/softmax_chain.h"

#include "schedule/auto/facts/nest_facts.h"

#include <algorithm>
#include <set>

namespace kawara::schedule {

using poly::Scop;
using poly::StmtId;
using scalar::Expr;
using scalar::ReduceOp;

namespace {

std::optional<uint32_t> plain_iterator(const Expr& e) {
  const auto* it = scalar::as<scalar::Iter>(e);
  return it ? std::optional(it->index) : std::nullopt;
}

std::vector<const scalar::Load*> loads_of(const Expr& e) {
  std::vector<const scalar::Load*> loads;
  scalar::visit(e, [&](const Expr& node) {
    if (const auto* load = scalar::as<scalar::Load>(node))
      loads.push_back(load);
  });
  return loads;
}

/// Where a tensor's index holds the rows and the reduced index.
struct Positions {
  std::vector<size_t> rows;
  std::optional<size_t> reduced;
};

std::optional<size_t> position_of(const std::vector<Expr>& index, uint32_t iterator) {
  for (size_t p = 0; p < index.size(); ++p)
    if (plain_iterator(index[p]) == iterator)
      return p;
  return std::nullopt;
}

std::optional<Positions> positions_in(const std::vector<Expr>& index, const ChainRole& role) {
  Positions positions;
  for (const uint32_t row : role.rows) {
    const auto at = position_of(index, row);
    if (!at)
      return std::nullopt;
    positions.rows.push_back(*at);
  }
  if (role.reduced)
    positions.reduced = position_of(index, *role.reduced);
  return positions;
}

std::optional<ChainRole> role_from(const std::vector<Expr>& index, const Positions& positions) {
  ChainRole role;
  for (const size_t p : positions.rows) {
    const auto iterator = plain_iterator(index[p]);
    if (!iterator)
      return std::nullopt;
    role.rows.push_back(*iterator);
  }
  if (positions.reduced) {
    role.reduced = plain_iterator(index[*positions.reduced]);
    if (!role.reduced)
      return std::nullopt;
  }
  return role;
}

class Search {
public:
  Search(const Schedule& schedule, std::vector<StmtId> statements)
      : scop_(schedule.scop), statements_(std::move(statements)) {}

  std::optional<ReductionChain> from(StmtId maximum, int64_t bytes) {
    const program::Statement& text = scop_[maximum].text;
    if (text.op != ReduceOp::Max && text.op != ReduceOp::Min)
      return std::nullopt;
    ChainRole role;
    for (const Expr& e : text.index) {
      if (const auto it = plain_iterator(e))
        role.rows.push_back(*it);
      else if (!scalar::constant_of(e)) // a dimension of one element has the index 0
        return std::nullopt;
    }
    if (text.iters.size() != role.rows.size() + 1 || role.rows.empty())
      return std::nullopt;
    for (uint32_t d = 0; d < text.iters.size(); ++d)
      if (std::find(role.rows.begin(), role.rows.end(), d) == role.rows.end())
        role.reduced = d;
    chain_.maximum = maximum;
    add(maximum, role);
    learn_from_maximum();
    add_members();
    if (chain_.members.size() < 2)
      return std::nullopt;
    attach();
    find_producers();
    return is_worth(bytes) ? std::optional(chain_) : std::nullopt;
  }

private:
  const program::Statement& text(StmtId id) const { return scop_[id].text; }
  bool is_temp(uint32_t tensor) const { return scop_.tensors[tensor].role == program::Role::Temp; }

  void add(StmtId id, const ChainRole& role) {
    chain_.members.push_back(id);
    chain_.roles[id] = role;
    if (const auto positions = positions_in(text(id).index, role))
      known_[text(id).tensor] = *positions;
  }

  /// What the maximum reads tells where others that read the same have the reduced index.
  void learn_from_maximum() {
    const ChainRole& role = chain_.roles.at(chain_.maximum);
    for (const scalar::Load* load : loads_of(text(chain_.maximum).value))
      if (const auto positions = positions_in(load->index, role); positions && positions->reduced)
        known_[load->tensor] = *positions;
  }

  /// The role that the statement's own reads give it; nothing when they disagree or say nothing.
  std::optional<ChainRole> role_of(StmtId id) const {
    std::optional<ChainRole> role;
    for (const scalar::Load* load : loads_of(text(id).value)) {
      const auto known = known_.find(load->tensor);
      if (known == known_.end())
        continue;
      const auto own = role_from(load->index, known->second);
      if (!own || (role && role->rows != own->rows))
        return std::nullopt;
      if (!role)
        role = own;
      else if (!role->reduced)
        role->reduced = own->reduced;
    }
    return role;
  }

  void add_members() {
    const auto first = std::find(statements_.begin(), statements_.end(), chain_.maximum);
    needed_.insert(text(chain_.maximum).tensor);
    for (auto at = first + 1; at < statements_.end(); ++at) {
      const auto loads = loads_of(text(*at).value);
      const bool is_needed = std::any_of(loads.begin(), loads.end(), [&](const scalar::Load* load) {
        return needed_.contains(load->tensor);
      });
      const auto role = is_needed ? role_of(*at) : std::nullopt;
      if (!role || !role->reduced)
        continue;
      const bool keeps = position_of(text(*at).index, *role->reduced).has_value();
      if (text(*at).op == ReduceOp::None ? !keeps || !is_temp(text(*at).tensor)
                                         : keeps || text(*at).op != ReduceOp::Sum)
        continue;
      add(*at, *role);
      needed_.insert(text(*at).tensor);
    }
  }

  /// Starts of the members' results, and what reads finished sums row by row.
  void attach() {
    for (const StmtId id : statements_) {
      if (chain_.roles.contains(id))
        continue;
      std::optional<ChainRole> role;
      const auto own = known_.find(text(id).tensor);
      if (own != known_.end() && needed_.contains(text(id).tensor) && !own->second.reduced)
        role = role_from(text(id).index, own->second);
      else if (const auto reads = role_of(id); reads && !reads->reduced)
        role = reads;
      if (!role)
        continue;
      chain_.attached.push_back(id);
      chain_.roles[id] = *role;
    }
  }

  /// Writers of temps over rows and reduced index that nobody but members reads.
  void find_producers() {
    std::set<uint32_t> wanted;
    for (const StmtId member : chain_.members)
      for (const scalar::Load* load : loads_of(text(member).value))
        if (is_temp(load->tensor) && !needed_.contains(load->tensor) &&
            known_.contains(load->tensor) && known_.at(load->tensor).reduced)
          wanted.insert(load->tensor);
    for (const StmtId id : statements_)
      for (const scalar::Load* load : loads_of(text(id).value))
        if (std::find(chain_.members.begin(), chain_.members.end(), id) == chain_.members.end())
          wanted.erase(load->tensor);
    for (const StmtId id : statements_) {
      if (!wanted.contains(text(id).tensor) || chain_.roles.contains(id))
        continue;
      if (const auto role = role_from(text(id).index, known_.at(text(id).tensor))) {
        chain_.producers.push_back(id);
        chain_.roles[id] = *role;
      }
    }
  }

  bool is_worth(int64_t bytes) const {
    const auto is_large = [&](StmtId id) {
      const program::Tensor& tensor = scop_.tensors[text(id).tensor];
      const auto known = known_.find(text(id).tensor);
      if (!is_temp(text(id).tensor) || known == known_.end() || !known->second.reduced)
        return false;
      int64_t size = scalar::bytes_of(tensor.elem);
      for (const Expr& extent : tensor.shape) {
        const auto value = scalar::constant_of(scalar::simplify(extent));
        if (!value || *value > bytes)
          return true;
        size = std::min(size * std::max<int64_t>(*value, 1), bytes + 1);
      }
      return size > bytes;
    };
    return std::any_of(chain_.members.begin(), chain_.members.end(), is_large) ||
           std::any_of(chain_.producers.begin(), chain_.producers.end(), is_large);
  }

  const Scop& scop_;
  std::vector<StmtId> statements_;
  ReductionChain chain_;
  std::map<uint32_t, Positions> known_; ///< by tensor
  std::set<uint32_t> needed_;           ///< results of members
};

} // namespace

std::optional<ReductionChain> reduction_chain(const Schedule& schedule, int64_t bytes) {
  std::vector<StmtId> statements;
  for (const poly::TreeNode& node : schedule.order.body) {
    const std::vector<StmtId> below = poly::statements_below(node);
    if (below.size() == 1)
      statements.push_back(below.front());
  }
  for (const StmtId id : statements)
    if (auto chain = Search(schedule, statements).from(id, bytes))
      return chain;
  return std::nullopt;
}

} // namespace kawara::schedule
