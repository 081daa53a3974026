#include "explain/theatre.h"

#include "cache/from_program.h"
#include "estimate/bounds/least_traffic.h"
#include "estimate/count.h"
#include "poly/isl/context.h"
#include "scalar/eval.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace kawara::explain {
namespace {

constexpr int64_t kMostIterations = 32; ///< of a dimension
constexpr int64_t kSmaller[] = {32, 24, 20, 16, 12, 10, 8, 6, 5, 4};
/// Accesses that are shown: as many as the text's own sizes make, or as smaller sizes shall make.
constexpr double kMostOwn = 3e5, kMostToy = 8e4;
constexpr int64_t kToyLineElements = 4;
constexpr int64_t kLeastLines = 4; ///< of a smaller cache

bool holds(const program::Program& program, const std::vector<int64_t>& sizes) {
  return std::all_of(program.assumptions.begin(), program.assumptions.end(), [&](const auto& e) {
    return scalar::evaluate_index(e, {}, sizes).value_or(0) != 0;
  });
}

void renumber(cache::Linear& sum, uint32_t by) {
  for (auto& [formula, factor] : sum.formulas)
    formula += by;
}

/// The statement alone, in loops that say nothing but its iterators' names.
program::Program alone(const poly::Scop& scop, const program::Statement& statement) {
  program::Program program;
  program.source = scop.source;
  program.params = scop.params;
  program.tensors = scop.tensors;
  program.statements = {statement};
  program::Body body = {program::StatementRef{0}};
  for (size_t d = statement.iters.size(); d-- > 0;) {
    program::Loop loop{statement.iters[d], scalar::int_lit(0), scalar::int_lit(1), 1, {}, {}};
    loop.body = std::move(body);
    body.clear();
    body.push_back(std::move(loop));
  }
  program.body = std::move(body);
  return program;
}

const cache::Code& innermost(const cache::Code& code, size_t depth) {
  return depth == 0 ? code : innermost(std::get<cache::Loop>(code.front().step).body, depth - 1);
}

/// As the program has it; of one that shares its place with others (a part of a tensor expression)
/// as it would be written alone.
std::string text_of(const poly::Scop& scop, const program::Statement& s) {
  const bool is_part = std::count_if(scop.statements.begin(), scop.statements.end(),
                                     [&](const poly::ScopStatement& each) {
                                       return each.text.where.begin == s.where.begin &&
                                              each.text.where.end == s.where.end;
                                     }) > 1;
  if (scop.source == nullptr || s.where.is_nowhere() || is_part) {
    const std::string printed = program::print(alone(scop, s));
    const std::string_view all = trim(printed);
    return std::string(trim(all.substr(all.rfind('\n') + 1)));
  }
  return scop.source->text.substr(s.where.begin, s.where.end - s.where.begin);
}

class Builder {
public:
  explicit Builder(const TheatreRequest& request) : request_(request) {}

  Result<Theatre, std::string> build() {
    if (program::depends_on_data(request_.program))
      return fail(std::string("which elements it touches, only its data say"));
    if (auto why = choose_sizes())
      return fail(*std::move(why));
    add_arrays();
    shrink_caches();
    cache::place_arrays(made_.accesses, made_.caches.front().line_bytes);
    made_.energy = request_.energy;
    made_.schedules = theatre_schedules(schedule::initial_schedule(*scop_),
                                        poly::StmtId{made_.main}, request_, made_.sizes);
    if (made_.schedules.empty() || !made_.schedules.front().order)
      return fail(std::string("its loops do more than run statements of the text"));
    for (TheatreSchedule& each : made_.schedules)
      if (each.order)
        each.counts =
            cache::simulate(accesses_in_order(made_, *each.order), made_.caches, true).counts;
    add_least();
    return std::move(made_);
  }

private:
  /// Why there are none that fit, if so.
  std::optional<std::string> choose_sizes() {
    const std::vector<int64_t> real(request_.sizes.begin(), request_.sizes.end());
    made_.real_sizes = real;
    for (const program::Param& param : request_.program.params)
      made_.params.push_back(param.name);
    std::optional<std::string> why;
    for (const int64_t most : kSmaller) {
      std::vector<int64_t> sizes = real;
      for (int64_t& size : sizes)
        size = std::min(size, most);
      if (!holds(request_.program, sizes))
        continue;
      if (!read(sizes))
        continue;
      made_.is_toy = sizes != real;
      if (accesses_ <= (made_.is_toy ? kMostToy : kMostOwn))
        return std::nullopt;
      why = fmt::format("it makes {:.0f} accesses at sizes of at most {}", accesses_, most);
      if (real.empty())
        break;
    }
    return why ? why : "it has no sizes of at most " + std::to_string(kMostIterations);
  }

  /// The program at these sizes; whether it has loops that can be read.
  bool read(const std::vector<int64_t>& sizes) {
    auto work = estimate::count(request_.program, sizes);
    if (!work)
      return false;
    work_ = *std::move(work);
    auto scop = poly::scop_from_program(request_.program, poly::make_context());
    made_.is_for_all_sizes = static_cast<bool>(scop);
    if (!scop)
      scop = poly::scop_from_program(
          program::specialise(request_.program, {sizes.begin(), sizes.end()}),
          poly::make_context());
    if (!scop)
      return false;
    scop_ = *std::move(scop);
    made_.sizes = sizes;
    return add_statements();
  }

  bool add_statements() {
    made_.statements.clear();
    made_.accesses = {};
    made_.unit = estimate::unit_of(work_);
    made_.operations = estimate::operations_of(work_);
    accesses_ = 0;
    double most = -1;
    for (uint32_t s = 0; s < scop_->statements.size(); ++s) {
      const program::Statement& text = scop_->statements[s].text;
      if (!add_statement(text))
        return false;
      const auto work = std::find_if(work_.statements.begin(), work_.statements.end(),
                                     [&](const auto& each) { return each.name == text.name; });
      if (work == work_.statements.end())
        return false;
      TheatreStatement& made = made_.statements.back();
      made.operations = work->flops_per_instance + work->int_ops_per_instance;
      accesses_ += work->instances * static_cast<double>(made.touches.size());
      if (work->instances * static_cast<double>(made.operations + 1) >= most &&
          !text.iters.empty()) {
        most = work->instances * static_cast<double>(made.operations + 1);
        made_.main = s;
      }
    }
    return most >= 0;
  }

  bool add_statement(const program::Statement& text) {
    auto read = cache::accesses_of_text(alone(*scop_, text), made_.sizes, 1);
    if (!read)
      return false;
    const auto references = static_cast<uint32_t>(made_.accesses.references.size());
    const auto formulas = static_cast<uint32_t>(made_.accesses.formulas.size());
    TheatreStatement made{text.name, text_of(*scop_, text), text.iters, 0, {}};
    for (const cache::Step& step : innermost(read->code, text.iters.size())) {
      cache::Touch touch = std::get<cache::Touch>(step.step);
      touch.reference += references;
      renumber(touch.at, formulas);
      if (touch.guard)
        renumber(*touch.guard, formulas);
      made.touches.push_back(std::move(touch));
    }
    for (cache::Formula f : read->formulas) {
      renumber(f.a, formulas);
      renumber(f.b, formulas);
      renumber(f.c, formulas);
      made_.accesses.formulas.push_back(std::move(f));
    }
    for (cache::Reference& each : read->references) {
      each.inside.reset();
      made_.accesses.references.push_back(std::move(each));
    }
    made_.accesses.arrays = std::move(read->arrays);
    made_.accesses.assumed += read->assumed;
    made_.statements.push_back(std::move(made));
    return true;
  }

  void add_arrays() {
    for (const program::Tensor& tensor : scop_->tensors) {
      if (tensor.shape.empty())
        continue;
      Theatre::Array made{tensor.name,
                          std::string(program::name_of(tensor.role)),
                          std::string(scalar::name_of(tensor.elem)),
                          {},
                          scalar::bytes_of(tensor.elem)};
      double real = static_cast<double>(made.element_bytes);
      for (const scalar::Expr& extent : tensor.shape) {
        made.shape.push_back(scalar::evaluate_index(extent, {}, made_.sizes).value_or(0));
        real *=
            static_cast<double>(scalar::evaluate_index(extent, {}, made_.real_sizes).value_or(0));
      }
      made_.real_bytes += real;
      made_.shapes.push_back(std::move(made));
    }
    for (const cache::Array& array : made_.accesses.arrays)
      made_.bytes += static_cast<double>(array.bytes);
  }

  /// Caches hold the same share of all arrays as the real ones do, in lines of a few elements.
  void shrink_caches() {
    made_.real_caches = made_.caches = request_.caches;
    if (!made_.is_toy)
      return;
    int64_t element = 1;
    for (const Theatre::Array& array : made_.shapes)
      element = std::max(element, array.element_bytes);
    const double ratio = made_.bytes / std::max(made_.real_bytes, 1.0);
    int64_t before = 0;
    for (cache::Description& d : made_.caches) {
      d.line_bytes = std::min(d.line_bytes, element * kToyLineElements);
      const double wanted =
          static_cast<double>(d.bytes) * ratio / static_cast<double>(d.line_bytes);
      const auto power = static_cast<int>(std::lround(std::log2(std::max(wanted, 1.0))));
      const int64_t lines = std::max({kLeastLines, int64_t{1} << std::min(power, 20), before * 2});
      // As many ways as sets, as far as the real one has them: both can then be seen.
      const int64_t root = int64_t{1} << (std::bit_width(static_cast<uint64_t>(lines)) - 1) / 2;
      d.ways = std::min(d.lines_of_set(), root);
      d.bytes = lines * d.line_bytes;
      before = lines;
    }
  }

  void add_least() {
    const auto most = static_cast<int64_t>(2 * made_.bytes);
    const estimate::FastMemory empty{0, true, true};
    for (int64_t bytes = 64; bytes / 2 < most; bytes *= 2) {
      estimate::FastMemory fast = empty;
      fast.bytes = static_cast<double>(bytes);
      made_.least.emplace_back(
          bytes, estimate::least_traffic(request_.program, made_.sizes, work_, fast).bytes);
    }
  }

  const TheatreRequest& request_;
  Theatre made_;
  estimate::Work work_;
  std::optional<poly::Scop> scop_;
  double accesses_ = 0;
};

} // namespace

Result<Theatre, std::string> theatre(const TheatreRequest& request) {
  return Builder(request).build();
}

} // namespace kawara::explain
