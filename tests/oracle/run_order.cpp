#include "oracle/run_order.h"

#include "oracle/moment.h"
#include "scalar/eval.h"
#include "support/check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace kawara::oracle {

using poly::Order;
using poly::TreeNode;
using program::Array;
using scalar::Value;

namespace {

std::vector<Array> arrays_of(const poly::Scop& scop, const std::vector<int64_t>& params,
                             const program::Arrays& inputs) {
  std::vector<Array> arrays;
  for (const program::Tensor& tensor : scop.tensors) {
    std::vector<int64_t> shape;
    for (const scalar::Expr& e : tensor.shape)
      shape.push_back(std::max<int64_t>(0, value_of(e, {}, params)));
    if (const auto given = inputs.find(tensor.name); given != inputs.end())
      arrays.push_back(given->second);
    else if (tensor.role == program::Role::Temp)
      arrays.push_back(program::fill_pattern(tensor.elem, shape, arrays.size() + 77));
    else
      arrays.emplace_back(tensor.elem, shape);
  }
  return arrays;
}

/// A value on its way into an element.
struct Store {
  uint32_t statement;
  uint32_t tensor;
  int64_t position;
  Value value; ///< of the statement's value type
};

class Machine {
public:
  Machine(const Run& run, const poly::Scop& scop, const Order& order, std::vector<Array> arrays,
          uint64_t seed)
      : run_(run), scop_(scop), order_(order), arrays_(std::move(arrays)), random_(seed),
        moments_(moments_of(order, run.instances, run.params)) {}

  std::vector<Array> result() {
    std::map<uint32_t, std::vector<size_t>> all;
    for (size_t i = 0; i < run_.instances.size(); ++i)
      all[run_.instances[i].statement].push_back(i);
    run(order_.body, all, 0);
    return std::move(arrays_);
  }

  double largest() const { return largest_; } ///< magnitude ever stored

private:
  using Todo = std::map<uint32_t, std::vector<size_t>>; ///< instances by statement
  struct Iteration {
    int64_t value; ///< of the innermost loop that was taken apart
    Todo todo;
  };
  using Iterations = std::vector<Iteration>; ///< by ascending values

  void run(const std::vector<TreeNode>& body, const Todo& todo, size_t depth) {
    for (const TreeNode& node : body) {
      if (node.is_loop())
        run_loop(node, todo, depth);
      else if (const auto at = todo.find(node.statement().value); at != todo.end())
        for (const size_t i : at->second)
          run_one(i);
    }
  }

  void run_one(size_t i) {
    const Instance& instance = run_.instances[i];
    const auto& over = run_.statements[instance.statement].over;
    if (!over)
      return write(read(i, instance.iters));
    std::vector<int64_t> iters = instance.iters;
    const int64_t lo = evaluated(over->lo, iters).i, hi = evaluated(over->hi, iters).i;
    for (int64_t q = lo; q < hi; ++q) {
      iters.push_back(q);
      write(read(i, iters));
      iters.pop_back();
    }
  }

  void run_loop(const TreeNode& node, const Todo& todo, size_t depth) {
    const poly::Marks& marks = order_[node.loop()].marks;
    // A coalesced unit is one loop: its body is that of its innermost member.
    size_t last = depth;
    const TreeNode* inner = &node;
    while (inner->body.size() == 1 && inner->body[0].is_loop() &&
           order_[inner->body[0].loop()].is_coalesced_into_parent) {
      inner = &inner->body[0];
      ++last;
    }
    if (marks.vector_width > 1 && last > depth)
      return run_iterations(iterations_of(node, todo, depth, last - 1), [&](const Todo& part) {
        run_vectors(*inner, iterations_of(*inner, part, last, last), marks);
      });
    Iterations iterations = iterations_of(node, todo, depth, last);
    if (marks.vector_width > 1)
      return run_vectors(*inner, iterations, marks);
    if (marks.is_parallel)
      std::shuffle(iterations.begin(), iterations.end(), random_);
    run_iterations(iterations, [&](const Todo& part) { run(inner->body, part, last + 1); });
  }

  template <class Body> void run_iterations(const Iterations& iterations, Body&& body) {
    for (const Iteration& iteration : iterations)
      body(iteration.todo);
  }

  /// The instances below `node`, apart by the values of the loops at depths `first` to `last`.
  Iterations iterations_of(const TreeNode& node, const Todo& todo, size_t first,
                           size_t last) const {
    std::map<std::vector<int64_t>, Todo> by_value;
    for (const poly::StmtId id : poly::statements_below(node)) {
      const auto at = todo.find(id.value);
      if (at == todo.end())
        continue;
      for (const size_t i : at->second) {
        std::vector<int64_t> key;
        for (size_t d = first; d <= last; ++d)
          key.push_back(moments_[i][2 * d + 1]);
        by_value[key][id.value].push_back(i);
      }
    }
    Iterations iterations;
    for (auto& [value, part] : by_value)
      iterations.push_back({value.back(), std::move(part)});
    return iterations;
  }

  /// A vector holds the iterations of `width` consecutive values; which value begins one is drawn,
  /// as peeling would choose it.
  void run_vectors(const TreeNode& node, const Iterations& iterations, const poly::Marks& marks) {
    if (iterations.empty())
      return;
    const int64_t width = marks.vector_width;
    int64_t last = iterations.front().value + static_cast<int64_t>(random_() % 64) % width;
    for (size_t begin = 0, end = 0; begin < iterations.size(); begin = end, last += width) {
      while (end < iterations.size() && iterations[end].value <= last)
        ++end;
      for (const TreeNode& leaf : node.body)
        run_lanes(leaf, iterations, begin, end, marks.is_scan);
    }
  }

  void run_lanes(const TreeNode& leaf, const Iterations& iterations, size_t begin, size_t end,
                 bool is_scan) {
    KAWARA_CHECK(!leaf.is_loop(), "a vector loop is innermost");
    // A loop over a range that is read is no lane's work: one after the other.
    // Each lane of a scan takes what the one before it stored; what it adds no lane of the
    // statement stores.
    const uint32_t statement = leaf.statement().value;
    const bool is_whole =
        run_.statements[statement].over.has_value() || (is_scan && run_.scans.contains(statement));
    std::vector<Store> stores;
    for (size_t k = begin; k < end; ++k) {
      const Todo& todo = iterations[k].todo;
      const auto at = todo.find(statement);
      if (at == todo.end())
        continue;
      for (const size_t i : at->second) {
        if (is_whole)
          run_one(i);
        else
          stores.push_back(read(i, run_.instances[i].iters));
      }
    }
    for (const Store& store : stores)
      write(store);
  }

  int64_t position(uint32_t tensor, const std::vector<int64_t>& index) const {
    const int64_t at = arrays_[tensor].position(index.data());
    KAWARA_CHECK(at >= 0, "element " + program::shape_text(index) + " lies inside " +
                              scop_.tensors[tensor].name +
                              program::shape_text(arrays_[tensor].shape()));
    return at;
  }

  Value evaluated(const scalar::Expr& e, const std::vector<int64_t>& iters) const {
    scalar::Leaves leaves;
    leaves.iter = [&](uint32_t d) { return scalar::int_value(iters[d]); };
    leaves.param = [&](uint32_t p) { return scalar::int_value(run_.params[p]); };
    leaves.load = [&](const scalar::Load& load, const std::vector<int64_t>& index, scalar::Elem) {
      return arrays_[load.tensor].get(position(load.tensor, index));
    };
    const auto value = scalar::evaluate(e, leaves);
    KAWARA_CHECK(value, "an expression has a value");
    return *value;
  }

  Store read(size_t i, const std::vector<int64_t>& iters) const {
    const Instance& instance = run_.instances[i];
    const program::Statement& statement = run_.statements[instance.statement];
    const Value value = evaluated(statement.value, iters);
    std::vector<int64_t> index;
    for (const scalar::Expr& e : statement.index)
      index.push_back(evaluated(e, iters).i);
    return {instance.statement, statement.tensor, position(statement.tensor, index), value};
  }

  void write(const Store& store) {
    const program::Statement& statement = run_.statements[store.statement];
    Array& array = arrays_[store.tensor];
    const scalar::Type type = statement.value.type();
    // The element and the value become leaves of `old op value`, so that the update means what
    // scalar/ says it means.
    scalar::Leaves leaves;
    leaves.var = [&](uint32_t id) {
      return id == 0 ? scalar::convert(array.elem(), type.elem, array.get(store.position))
                     : store.value;
    };
    const auto left = scalar::evaluate(
        scalar::combine(statement.op, scalar::var(0, type), scalar::var(1, type)), leaves);
    KAWARA_CHECK(left, "an update has a value");
    array.set(store.position, scalar::convert(type.elem, array.elem(), *left));
    largest_ = std::max(largest_, std::abs(array.get_double(store.position)));
  }

  const Run& run_;
  const poly::Scop& scop_;
  const Order& order_;
  std::vector<Array> arrays_;
  std::mt19937_64 random_;
  std::vector<Moment> moments_;
  double largest_ = 0;
};

} // namespace

program::Arrays run_order(const Run& run, const poly::Scop& scop, const Order& order,
                          const program::Arrays& inputs, uint64_t seed) {
  const std::vector<Array> arrays =
      Machine(run, scop, order, arrays_of(scop, run.params, inputs), seed).result();
  program::Arrays results;
  for (size_t t = 0; t < arrays.size(); ++t)
    if (scop.tensors[t].role == program::Role::Output ||
        scop.tensors[t].role == program::Role::Inout)
      results.emplace(scop.tensors[t].name, arrays[t]);
  return results;
}

double largest_element(const Run& run, const poly::Scop& scop, const program::Arrays& inputs) {
  Machine machine(run, scop, scop.source_order, arrays_of(scop, run.params, inputs), 0);
  machine.result();
  return machine.largest();
}

} // namespace kawara::oracle
