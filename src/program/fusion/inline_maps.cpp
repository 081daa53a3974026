#include "program/fusion/inline_maps.h"

#include "program/fusion/nests.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace kawara::program::fusion {
namespace {

/// Values that get larger than this stay apart.
constexpr size_t kMostNodes = 400;

size_t nodes_of(const Expr& e) {
  size_t count = 0;
  scalar::visit(e, [&](const Expr&) { ++count; });
  return count;
}

int64_t reads_of(const Expr& e, uint32_t tensor) {
  int64_t count = 0;
  scalar::visit(e, [&](const Expr& x) {
    const auto* load = scalar::as<scalar::Load>(x);
    count += load && load->tensor == tensor ? 1 : 0;
  });
  return count;
}

/// Is computing it again much more than loading it?
bool is_costly(const Expr& e) {
  bool found = false;
  scalar::visit(e, [&](const Expr& x) {
    if (const auto* unary = scalar::as<scalar::Unary>(x))
      found = found || (unary->op != scalar::UnaryOp::Neg && unary->op != scalar::UnaryOp::Abs &&
                        unary->op != scalar::UnaryOp::Not);
    if (const auto* binary = scalar::as<scalar::Binary>(x))
      found = found || binary->op == scalar::BinaryOp::Pow ||
              binary->op == scalar::BinaryOp::Atan2 || binary->op == scalar::BinaryOp::Div;
  });
  return found;
}

/// Times that each statement of the body runs; loops whose bounds are no numbers count as a
/// thousand.
void count_runs(const Body& body, int64_t runs, std::vector<int64_t>& out) {
  for (const BodyNode& node : body) {
    if (const auto* loop = std::get_if<Loop>(&node)) {
      const auto lo = scalar::constant_of(loop->lo), hi = scalar::constant_of(loop->hi);
      const int64_t extent = lo && hi ? std::max<int64_t>((*hi - *lo) / loop->step, 0) : 1000;
      count_runs(loop->body, runs * extent, out);
    } else if (const auto* branch = std::get_if<If>(&node)) {
      count_runs(branch->then, runs, out);
      count_runs(branch->otherwise, runs, out);
    } else {
      out[std::get<StatementRef>(node).statement] = runs;
    }
  }
}

std::vector<int64_t> runs_of(const Program& program) {
  std::vector<int64_t> runs(program.statements.size(), 0);
  count_runs(program.body, 1, runs);
  return runs;
}

int64_t elements_of(const Tensor& tensor) {
  const Extents extents = extents_of(tensor);
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

/// The one iterator that the index depends on.
std::optional<uint32_t> only_iter(const Expr& index) {
  std::optional<uint32_t> found;
  bool is_only = true;
  scalar::visit(index, [&](const Expr& e) {
    if (const auto* at = scalar::as<scalar::Iter>(e)) {
      is_only = is_only && (!found || *found == at->index);
      found = at->index;
    }
    if (const auto* binary = scalar::as<scalar::Binary>(e)) // a remainder repeats itself
      is_only =
          is_only && (binary->op == scalar::BinaryOp::Add || binary->op == scalar::BinaryOp::Sub ||
                      binary->op == scalar::BinaryOp::Mul);
  });
  return is_only ? found : std::nullopt;
}

/// Times that the statement uses each element of the tensor, at most.
int64_t uses_per_element(const Program& program, const Statement& s, int64_t runs,
                         uint32_t tensor) {
  bool is_once = true;
  scalar::visit(s.value, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    if (!load || load->tensor != tensor)
      return;
    std::set<uint32_t> iters;
    for (const Expr& index : load->index)
      if (const auto iter = only_iter(index))
        iters.insert(*iter);
    is_once = is_once && iters.size() == s.iters.size();
  });
  const int64_t elements = std::max<int64_t>(elements_of(program.tensors[tensor]), 1);
  return is_once ? 1 : (runs + elements - 1) / elements;
}

class Inliner {
public:
  explicit Inliner(Program program) : program_(std::move(program)) {}

  Program run() {
    // Readers first, so that what two of them read is read by one when its turn comes.
    for (size_t k = program_.body.size(); k-- > 0;) {
      const auto nest = plain_nest(program_.body[k]);
      if (nest && is_map(program_, *nest) && is_written_once(program_.statements[nest->statement]))
        inline_nest(k, *nest);
    }
    return std::move(program_);
  }

private:
  bool is_written_once(const Statement& s) const {
    return std::count_if(live().begin(), live().end(), [&](uint32_t other) {
             return program_.statements[other].tensor == s.tensor;
           }) == 1;
  }

  /// Statements that the body still holds.
  const std::vector<uint32_t>& live() const {
    if (live_.empty())
      collect(program_.body);
    return live_;
  }
  void collect(const Body& body) const {
    for (const BodyNode& node : body)
      if (const auto* loop = std::get_if<Loop>(&node)) {
        collect(loop->body);
      } else if (const auto* branch = std::get_if<If>(&node)) {
        collect(branch->then);
        collect(branch->otherwise);
      } else {
        live_.push_back(std::get<StatementRef>(node).statement);
      }
  }

  void inline_nest(size_t at, const PlainNest& nest) {
    const Statement producer = program_.statements[nest.statement];
    const bool is_result = program_.tensors[producer.tensor].role != Role::Temp;
    // What depends on constants alone is computed once and kept.
    if (reads_constants_only(producer.value))
      return;
    const std::vector<int64_t> runs = runs_of(program_);
    std::vector<uint32_t> readers;
    for (const uint32_t s : live())
      if (reads_of(program_.statements[s].value, producer.tensor) > 0)
        readers.push_back(s);
    const bool is_costly_again =
        is_costly(producer.value) && readers.size() + (is_result ? 1 : 0) > 1;
    bool is_everywhere = true;
    for (const uint32_t s : readers) {
      Statement& reader = program_.statements[s];
      const auto reads = static_cast<size_t>(reads_of(reader.value, producer.tensor));
      const bool is_large = nodes_of(reader.value) + reads * nodes_of(producer.value) > kMostNodes;
      if (is_costly_again || is_large ||
          uses_per_element(program_, reader, runs[s], producer.tensor) > 1) {
        is_everywhere = false;
        continue;
      }
      reader.value = scalar::rewrite(reader.value, [&](const Expr& e) -> Expr {
        const auto* load = scalar::as<scalar::Load>(e);
        if (!load || load->tensor != producer.tensor)
          return {};
        return scalar::cast(scalar::substitute_iters(producer.value, load->index), e.type());
      });
    }
    if (is_everywhere && !is_result) {
      program_.body.erase(program_.body.begin() + static_cast<std::ptrdiff_t>(at));
      live_.clear();
    }
  }

  bool reads_constants_only(const Expr& e) const {
    bool is_constant = true;
    scalar::visit(e, [&](const Expr& x) {
      if (const auto* load = scalar::as<scalar::Load>(x))
        is_constant = is_constant && program_.tensors[load->tensor].is_constant;
    });
    return is_constant;
  }

  Program program_;
  mutable std::vector<uint32_t> live_; ///< empty: not known
};

} // namespace

Program inline_maps(Program program) { return Inliner(std::move(program)).run(); }

int64_t reads_per_element(const Program& program, uint32_t tensor) {
  const std::vector<int64_t> runs = runs_of(program);
  int64_t most = 0;
  for (size_t s = 0; s < program.statements.size(); ++s)
    if (runs[s] > 0 && reads_of(program.statements[s].value, tensor) > 0)
      most = std::max(most, uses_per_element(program, program.statements[s], runs[s], tensor));
  return most;
}

} // namespace kawara::program::fusion
