#include "program/rewrites/dense_strides.h"

#include "program/contraction.h"
#include "program/rewrites/find_convolution.h"
#include "program/rewrites/joined_dimensions.h"
#include "program/text/resolver.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <set>
#include <utility>

namespace kawara::program {
namespace {

using scalar::as;
using scalar::int_lit;

/// Uses of an element that make up for its copy: to gather one takes about as long as a
/// multiply-add of two vectors.
constexpr int64_t kLeastUsesOfCopy = 4;

/// Rows of the copy are joined whether or not they are whole vectors: no length is a multiple of
/// this.
constexpr int64_t kAnyLength = INT64_MAX;

/// One dimension of the operand: the loop that walks through it, and how far apart its elements
/// are.
struct StridedDimension {
  uint32_t iterator = 0;
  int64_t factor = 1, first = 0;
  int64_t length = 0;
};

struct StridedOperand {
  size_t root = 0; ///< node of the body that holds the sum
  uint32_t statement = 0, tensor = 0;
  std::vector<StridedDimension> dims;
};

/// The loops around a statement below a node; nothing where an `if` is among them.
bool find_loops_around(const Body& body, uint32_t statement, std::vector<const Loop*>& path) {
  return std::any_of(body.begin(), body.end(), [&](const BodyNode& node) {
    if (const auto* ref = std::get_if<StatementRef>(&node))
      return ref->statement == statement;
    const auto* loop = std::get_if<Loop>(&node);
    if (loop == nullptr)
      return false;
    path.push_back(loop);
    if (find_loops_around(loop->body, statement, path))
      return true;
    path.pop_back();
    return false;
  });
}

void collect_inside(const Body& body, std::vector<uint32_t>& found) {
  for (const BodyNode& node : body)
    if (const auto* ref = std::get_if<StatementRef>(&node))
      found.push_back(ref->statement);
    else if (const auto* loop = std::get_if<Loop>(&node))
      collect_inside(loop->body, found);
    else {
      collect_inside(std::get<If>(node).then, found);
      collect_inside(std::get<If>(node).otherwise, found);
    }
}

class StrideFinder {
public:
  explicit StrideFinder(const Program& program) : program_(program) {}

  std::optional<StridedOperand> run() const {
    for (size_t root = 0; root < program_.body.size(); ++root) {
      std::vector<uint32_t> inside;
      collect_inside({program_.body[root]}, inside);
      for (const uint32_t s : inside)
        if (auto found = operand_of(root, s, inside))
          return found;
    }
    return std::nullopt;
  }

private:
  const Statement& text(uint32_t s) const { return program_.statements[s]; }

  std::optional<StridedOperand> operand_of(size_t root, uint32_t s,
                                           const std::vector<uint32_t>& inside) const {
    const auto product = contraction_of(text(s));
    if (!product || text(s).over)
      return std::nullopt;
    std::vector<const Loop*> path;
    if (!find_loops_around({program_.body[root]}, s, path) ||
        !std::all_of(path.begin(), path.end(), [](const Loop* l) { return length_of(*l); }))
      return std::nullopt;
    for (const auto& [image, other] :
         {std::pair(product->left, product->right), std::pair(product->right, product->left)}) {
      const auto *load = as<scalar::Load>(image), *weight = as<scalar::Load>(other);
      if (load == nullptr || weight == nullptr || load->tensor == weight->tensor ||
          !is_computed_as_it_is(load->tensor) || !may_be_copied(load->tensor, inside))
        continue;
      StridedOperand found{root, s, load->tensor, {}};
      if (has_strides(*load, path, found) && uses_of(found, path, s) >= kLeastUsesOfCopy)
        return found;
    }
    return std::nullopt;
  }

  bool is_computed_as_it_is(uint32_t tensor) const {
    const scalar::Elem elem = program_.tensors[tensor].elem;
    return elem == scalar::Elem::F32 || elem == scalar::Elem::F64;
  }

  /// Nothing beside the sum makes what would be copied before.
  bool may_be_copied(uint32_t tensor, const std::vector<uint32_t>& inside) const {
    return std::none_of(inside.begin(), inside.end(),
                        [&](uint32_t s) { return text(s).tensor == tensor; });
  }

  static bool has_strides(const scalar::Load& load, const std::vector<const Loop*>& path,
                          StridedOperand& found) {
    std::set<uint32_t> seen;
    for (const Expr& index : load.index) {
      const scalar::AffineSum sum = scalar::affine_sum(index);
      const auto* it = sum.terms.size() == 1 ? as<scalar::Iter>(sum.terms[0].first) : nullptr;
      if (it == nullptr || sum.terms[0].second < 1 || !seen.insert(it->index).second)
        return false;
      const int64_t length = *length_of(*path[it->index]);
      if (length < 2)
        return false;
      found.dims.push_back({it->index, sum.terms[0].second, sum.constant, length});
    }
    return !found.dims.empty() && found.dims.back().factor > 1;
  }

  /// How often the sum reads each element: along the loops of the result that do not move the
  /// operand.
  int64_t uses_of(const StridedOperand& found, const std::vector<const Loop*>& path,
                  uint32_t s) const {
    int64_t uses = 1;
    for (uint32_t it = 0; it < path.size(); ++it) {
      const bool moves = std::any_of(found.dims.begin(), found.dims.end(),
                                     [&](const auto& dim) { return dim.iterator == it; });
      if (!moves && moves_result(s, it))
        uses *= *length_of(*path[it]);
    }
    return uses;
  }

  bool moves_result(uint32_t s, uint32_t iterator) const {
    bool found = false;
    for (const Expr& index : text(s).index)
      scalar::visit(index, [&](const Expr& e) {
        const auto* it = as<scalar::Iter>(e);
        found = found || (it != nullptr && it->index == iterator);
      });
    return found;
  }

  const Program& program_;
};

/// Reads an operand from a tensor of its own, of the same elements side by side.
class StrideRewriter {
public:
  StrideRewriter(Program program, StridedOperand operand)
      : program_(std::move(program)), operand_(std::move(operand)),
        where_(program_.statements[operand_.statement].where) {}

  Program run() {
    const std::string name = program_.tensors[operand_.tensor].name + "_dense";
    const uint32_t dense = add_tensor(name), apart = add_tensor(name + "_apart");
    add_copy(apart, read(dense));
    // Until loops are joined the copy goes to a tensor of its own: it walks through the dimensions
    // one by one.
    program_.tensors[dense].role = Role::Input;
    while (auto joined = with_joined_dimensions(program_, kAnyLength))
      program_ = *std::move(joined);
    program_.tensors[dense].role = Role::Temp;
    for (Statement& text : program_.statements)
      if (text.tensor == apart) {
        text.tensor = dense;
        text.index = index_in(program_.tensors[dense]);
      }
    program_.tensors.pop_back();
    number_statements(program_);
    return std::move(program_);
  }

private:
  uint32_t add_tensor(const std::string& name) {
    Tensor tensor;
    tensor.name = name;
    while (std::any_of(program_.tensors.begin(), program_.tensors.end(),
                       [&](const Tensor& other) { return other.name == tensor.name; }))
      tensor.name += "_";
    tensor.elem = program_.tensors[operand_.tensor].elem;
    for (const StridedDimension& dim : operand_.dims)
      tensor.shape.push_back(int_lit(dim.length));
    tensor.is_hidden = true;
    tensor.where = where_;
    program_.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(program_.tensors.size() - 1);
  }

  /// The type of an element.
  scalar::Type read(uint32_t dense) {
    scalar::Type type;
    Statement& text = program_.statements[operand_.statement];
    text.value = scalar::rewrite(text.value, [&](const Expr& e) -> Expr {
      const auto* load = as<scalar::Load>(e);
      if (load == nullptr || load->tensor != operand_.tensor)
        return {};
      type = e.type();
      std::vector<Expr> index;
      for (const StridedDimension& dim : operand_.dims)
        index.push_back(scalar::iter(dim.iterator));
      return scalar::load(dense, std::move(index), type);
    });
    return type;
  }

  /// Where the copy writes, whichever of its loops walk through one dimension together.
  std::vector<Expr> index_in(const Tensor& dense) const {
    std::vector<Expr> index;
    Expr place;
    int64_t reached = 1; // of the dimension that `place` walks through
    for (uint32_t d = 0; d < operand_.dims.size(); ++d) {
      const Expr it = scalar::iter(d);
      place = reached == 1 ? it : place * int_lit(operand_.dims[d].length) + it;
      reached *= operand_.dims[d].length;
      if (scalar::constant_of(dense.shape[index.size()]) == reached) {
        index.push_back(place);
        reached = 1;
      }
    }
    return index;
  }

  /// The nest that copies, one loop for each dimension of the operand.
  void add_copy(uint32_t copy, scalar::Type type) {
    Statement text;
    std::vector<Expr> from;
    for (uint32_t d = 0; d < operand_.dims.size(); ++d) {
      const StridedDimension& dim = operand_.dims[d];
      text.iters.push_back("d" + std::to_string(d));
      text.index.push_back(scalar::iter(d));
      from.push_back(scalar::simplify(scalar::iter(d) * int_lit(dim.factor) + int_lit(dim.first)));
    }
    text.tensor = copy;
    text.value = scalar::load(operand_.tensor, std::move(from), type);
    text.where = where_;
    program_.statements.push_back(std::move(text));
    Body inside;
    inside.emplace_back(StatementRef{static_cast<uint32_t>(program_.statements.size() - 1)});
    for (size_t d = operand_.dims.size(); d-- > 0;) {
      Loop loop;
      loop.name = "d" + std::to_string(d);
      loop.lo = int_lit(0);
      loop.hi = int_lit(operand_.dims[d].length);
      loop.where = where_;
      loop.body = std::exchange(inside, {});
      inside.emplace_back(std::move(loop));
    }
    program_.body.insert(program_.body.begin() + static_cast<std::ptrdiff_t>(operand_.root),
                         std::move(inside.front()));
  }

  Program program_;
  StridedOperand operand_;
  Span where_;
};

} // namespace

std::optional<Program> with_dense_strides(const Program& program) {
  auto operand = StrideFinder(program).run();
  return operand ? std::optional(StrideRewriter(program, *std::move(operand)).run()) : std::nullopt;
}

} // namespace kawara::program
