#include "oracle/record.h"

#include "scalar/eval.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::oracle {
namespace {

using program::Array;
using program::Statement;
using scalar::Expr;

class Recorder {
public:
  Recorder(const std::vector<program::Tensor>& tensors, const std::vector<int64_t>& params,
           const program::Arrays& inputs)
      : params_(params) {
    for (const program::Tensor& tensor : tensors) {
      std::vector<int64_t> shape;
      for (const Expr& e : tensor.shape)
        shape.push_back(std::max<int64_t>(0, value_of(e, {}, params)));
      const auto given = inputs.find(tensor.name);
      arrays_.push_back(given != inputs.end() ? given->second : Array(tensor.elem, shape));
    }
  }

  std::vector<Touch> run(const Statement& s, std::vector<int64_t> iters) {
    touches_.clear();
    if (!s.over) {
      one(s, iters);
      return touches_;
    }
    const int64_t lo = evaluated(s.over->lo, iters).i, hi = evaluated(s.over->hi, iters).i;
    for (int64_t q = lo; q < hi; ++q) {
      iters.push_back(q);
      one(s, iters);
      iters.pop_back();
    }
    return touches_;
  }

private:
  scalar::Value evaluated(const Expr& e, const std::vector<int64_t>& iters) {
    scalar::Leaves leaves;
    leaves.iter = [&](uint32_t d) { return scalar::int_value(iters[d]); };
    leaves.param = [&](uint32_t p) { return scalar::int_value(params_[p]); };
    leaves.load = [&](const scalar::Load& load, const std::vector<int64_t>& index, scalar::Elem) {
      touches_.push_back({{load.tensor, index}, false, false});
      return arrays_[load.tensor].get(position(load.tensor, index));
    };
    const auto value = scalar::evaluate(e, leaves);
    KAWARA_CHECK(value, "an expression has a value");
    return *value;
  }

  int64_t position(uint32_t tensor, const std::vector<int64_t>& index) const {
    const int64_t at = arrays_[tensor].position(index.data());
    KAWARA_CHECK(at >= 0, "an element lies inside its tensor");
    return at;
  }

  void one(const Statement& s, const std::vector<int64_t>& iters) {
    std::vector<int64_t> index;
    for (const Expr& e : s.index)
      index.push_back(evaluated(e, iters).i);
    const scalar::Value value = evaluated(s.value, iters);
    const bool is_update = s.op != scalar::ReduceOp::None;
    if (is_update)
      touches_.push_back({{s.tensor, index}, false, true});
    touches_.push_back({{s.tensor, index}, true, is_update});
    Array& array = arrays_[s.tensor];
    const scalar::Type type = s.value.type();
    const int64_t at = position(s.tensor, index);
    scalar::Leaves leaves;
    leaves.var = [&](uint32_t id) {
      return id == 0 ? scalar::convert(array.elem(), type.elem, array.get(at)) : value;
    };
    const auto left =
        scalar::evaluate(scalar::combine(s.op, scalar::var(0, type), scalar::var(1, type)), leaves);
    array.set(at, scalar::convert(type.elem, array.elem(), *left));
  }

  const std::vector<int64_t>& params_;
  std::vector<Array> arrays_;
  std::vector<Touch> touches_;
};

} // namespace

std::vector<std::vector<Touch>> recorded_touches(const std::vector<Instance>& in_order,
                                                 const std::vector<Statement>& statements,
                                                 const std::vector<program::Tensor>& tensors,
                                                 const std::vector<int64_t>& params,
                                                 const program::Arrays& inputs) {
  Recorder recorder(tensors, params, inputs);
  std::vector<std::vector<Touch>> all;
  for (const Instance& instance : in_order)
    all.push_back(recorder.run(statements[instance.statement], instance.iters));
  return all;
}

} // namespace kawara::oracle
