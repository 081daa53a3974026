#include "kernel/math/converted_rows.h"

#include "kernel/analysis/fixed.h"
#include "kernel/gpu/warpgroup/group_parts.h"
#include "kernel/walk.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;

constexpr int64_t kLanesAtOnce = 32;
/// Loops that convert a row before it is kept: for two of them one loop more costs what they save.
constexpr size_t kFewestLoops = 3;

/// A loop over one row.
struct RowLoop {
  size_t at = 0; ///< in the block
  uint32_t var = 0;
  int64_t first = 0, last = 0;
};

std::optional<RowLoop> row_loop(const Stmt& stmt, size_t at) {
  const auto* loop = std::get_if<For>(&stmt);
  if (loop == nullptr || loop->step != 1 || loop->marks.is_parallel || loop->marks.unroll != 0 ||
      !loop->marks.instruction.empty())
    return std::nullopt;
  const auto first = scalar::constant_of(loop->lo), last = scalar::constant_of(loop->hi);
  if (!has_only<Store>(loop->body) || !first || !last || *first >= *last ||
      *last - *first > kLongestConverted)
    return std::nullopt;
  return RowLoop{at, loop->var, *first, *last};
}

/// All that the loop converts where it is always read: not in one side of a select.
std::vector<Expr> conversions_in(const For& loop) {
  std::vector<Expr> found;
  const std::function<void(const Expr&)> walk = [&](const Expr& e) {
    if (as<scalar::Select>(e) != nullptr)
      return;
    if (is_converted_f16(e) && mentions(e, loop.var))
      found.push_back(e);
    for (const Expr& kid : scalar::children(e))
      walk(kid);
  };
  for (const Stmt& stmt : loop.body)
    walk(std::get<Store>(stmt).value);
  return found;
}

class RowConversions {
public:
  explicit RowConversions(Kernel& kernel) : kernel_(kernel) {}

  /// `scope`: of what is added here.
  Block block(Block statements, Scope scope) {
    for (Stmt& stmt : statements) {
      const auto* loop = std::get_if<For>(&stmt);
      const Scope inside = loop != nullptr && loop->marks.is_parallel ? Scope::Private : scope;
      stmt = with_nested_blocks(std::move(stmt), [&](const Block& inner) {
        return has<For>(inner) ? block(inner, inside) : inner;
      });
    }
    std::vector<uint32_t> added;
    for (size_t at = 0; at < statements.size(); ++at)
      if (const auto loop = row_loop(statements[at], at))
        for (const Expr& element : conversions_in(std::get<For>(statements[at])))
          if (const auto buffer = keep(statements, *loop, element, scope)) {
            added.push_back(*buffer);
            break; // the loop itself comes next
          }
    if (scope == Scope::Private)
      for (const uint32_t buffer : added)
        statements = block_of(Allocate{buffer, std::move(statements)});
    return statements;
  }

private:
  /// The row that is kept, where later loops convert it again.
  std::optional<uint32_t> keep(Block& statements, const RowLoop& loop, const Expr& element,
                               Scope scope) {
    VarSet changed = vars_set_in(statements);
    changed.erase(loop.var);
    if (!is_fixed(element, changed, buffers_stored_in(statements)))
      return std::nullopt;
    const auto element_of = [&](const RowLoop& other) {
      return substitute_var(element, loop.var, scalar::var(other.var));
    };
    std::vector<RowLoop> readers;
    for (size_t at = loop.at + 1; at < statements.size(); ++at)
      if (const auto other = row_loop(statements[at], at);
          other && other->first == loop.first && other->last == loop.last)
        for (const Expr& e : conversions_in(std::get<For>(statements[at])))
          if (scalar::equal(e, element_of(*other))) {
            readers.push_back(*other);
            break;
          }
    if (readers.size() + 1 < kFewestLoops)
      return std::nullopt;
    const auto* load = as<scalar::Load>(as<scalar::Cast>(element)->arg);
    const uint32_t buffer = add_group_buffer(kernel_, kernel_.buffers[load->tensor].name + "_f32",
                                             scalar::Elem::F32, {loop.last - loop.first}, scope);
    const auto kept = [&](const RowLoop& other) {
      return std::vector{scalar::simplify(scalar::var(other.var) - scalar::int_lit(other.first))};
    };
    readers.push_back(loop);
    for (const RowLoop& reader : readers) {
      auto& body = std::get<For>(statements[reader.at]).body;
      const Expr old = element_of(reader), now = scalar::load(buffer, kept(reader), element.type());
      body = map_exprs(body, [&](const Expr& root) {
        return scalar::rewrite(root,
                               [&](const Expr& e) { return scalar::equal(e, old) ? now : Expr(); });
      });
    }
    For copy = std::get<For>(statements[loop.at]);
    copy.marks = {};
    copy.marks.vector_width = kLanesAtOnce;
    copy.body = block_of(Store{buffer, kept(loop), ReduceOp::None, element});
    statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(loop.at), std::move(copy));
    return buffer;
  }

  Kernel& kernel_;
};

} // namespace

bool is_converted_f16(const Expr& e) {
  const auto* cast = as<scalar::Cast>(e);
  return cast != nullptr && e.type() == scalar::Type{scalar::Elem::F32, 1} &&
         cast->arg.type().elem == scalar::Elem::F16 && as<scalar::Load>(cast->arg) != nullptr;
}

Kernel converted_rows(Kernel kernel) {
  const Block body = std::exchange(kernel.body, {});
  kernel.body = RowConversions(kernel).block(body, Scope::Workspace);
  return kernel;
}

} // namespace kawara::kernel
