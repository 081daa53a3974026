#pragma once

#include "program/errors.h"
#include "program/text/ast.h"
#include "program/text/other_words.h"
#include "program/text/typed.h"

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace kawara::program {

/// A loop that encloses the place being resolved: written with `for`, or the index of a tensor
/// expression. Iter d of an expression is the loop at position d.
struct ScopeLoop {
  std::string name;
  Expr lo, hi;
  int64_t step = 1;
  Span where;
  bool is_dimension = false; ///< runs over a dimension of a tensor, so hi - lo is never negative
  std::string shown = {};    ///< its name in the Program, where that is another
};

/// The names of the language's functions.
std::vector<std::string> all_functions();

/// Whether the loop runs upwards between bounds that depend on parameters only.
bool has_fixed_range(const ScopeLoop&);

/// What an affine expression is used for; decides the wording of errors.
struct Place {
  const char* what; ///< "an index", "a loop bound", "a size", "a condition"
  bool is_condition = false;
  bool takes_data = false; ///< of an index: integers that are read or computed may be part of it
};

/// Looks up names and types of an ast::File and builds the Program. Every unknown name is reported
/// once; what depends on it is poisoned and stays silent.
class Resolver {
public:
  Resolver(const ast::File& file, Report& report) : file_(file), report_(report) {}
  Program run();

private:
  enum class SymbolKind : uint8_t { Param, Tensor, Function };
  struct Symbol {
    SymbolKind kind;
    uint32_t index;
    Span where;
    bool is_poisoned;
  };
  static constexpr uint32_t kMaxRank = 32;
  static constexpr uint32_t kMaxLoops = 128;
  static constexpr uint32_t kMaxIndices = 16;  ///< of one reduction
  static constexpr uint32_t kMaxValues = 16;   ///< of one `max` or `min`
  static constexpr uint32_t kMaxSize = 10000;  ///< nodes of one expression
  static constexpr uint32_t kMaxCalls = 20000; ///< of functions in one file

  // Declarations and blocks (resolve.cpp).
  void params();
  void tensors();
  void tensor(const ast::TensorDecl&);
  void numerics();
  bool declare(std::string_view name, Span where, Symbol);
  void body(const std::vector<ast::Statement>&, Body& out);
  void for_loop(const ast::Statement&, Body& out);
  void if_else(const ast::Statement&, Body& out);
  bool check_loop_name(std::string_view name, Span where, const char* what);
  void require_output();
  std::optional<int64_t> default_size(const ast::Expr&);

  // Values and functions with names (resolve_local.cpp).
  struct Local {
    std::string name;
    Value value; ///< empty after an error
    Expr affine; ///< empty where it has no such form
    Span where;
  };
  /// What names inside a function may mean: loops and locals from these on, and what the file
  /// declares.
  struct Frame {
    uint32_t first_loop = 0, first_local = 0;
    std::vector<std::string_view> calls; ///< functions around
  };
  const Local* find_local(std::string_view name) const;
  Expr affine_if_any(const ast::Expr&, bool takes_data = false);
  bool is_constant_let(const ast::Statement&) const;
  void constants();
  void let(const ast::Statement&, const std::vector<ast::Statement>& block, size_t rest, Body& out);
  bool needs_temp(const Expr&, std::string_view name, const std::vector<ast::Statement>& block,
                  size_t rest) const;
  Value kept(const Local&, Body& out);
  void functions();
  const ast::FunctionDecl* find_function(std::string_view name) const;
  bool in_function(const ast::Expr& call, const std::function<void(const ast::Expr&)>& result);
  Value function_value(const ast::Expr& call);
  Expr function_affine(const ast::Expr& call, Place);

  // Names (resolve_names.cpp).
  const Symbol* find(std::string_view name) const;
  std::optional<uint32_t> find_loop(std::string_view name) const;
  bool is_bound(std::string_view name) const {
    return find_loop(name) || find_local(name) != nullptr || find(name) != nullptr;
  }
  std::string shown_name(const ScopeLoop&) const;
  bool is_unbound_name(const ast::Expr&) const;
  /// `rank`: of a tensor, how many indices it is used with.
  void unknown_name(std::string_view name, Span where, std::optional<size_t> rank = {});
  std::optional<std::string> name_meant(std::string_view name) const;
  struct AssignedParts; // resolve_elem_for.cpp
  /// The type that a name which is not declared should have, by what is assigned to it.
  scalar::Elem elem_for(std::string_view name) const;
  scalar::Elem usual_elem(bool is_float) const;
  std::string text_of(Span) const;
  std::string to_text(const Expr&) const;

  // Affine expressions (resolve_affine.cpp).
  Expr affine(const ast::Expr&, Place);
  Expr affine_name(const ast::Expr&, Place);
  Expr affine_call(const ast::Expr&, Place);
  Expr affine_binary(const ast::Expr&, Place);
  std::optional<std::string> wrapped_cases(const ast::Expr& index, const ast::Expr& extent) const;
  Expr data_index(const ast::Expr&, Place);
  bool has_reduction(const ast::Expr&);
  void assume_values(const ast::Expr& binder);
  Expr not_affine(const ast::Expr&, Place, const std::string& why, std::vector<Help> = {});
  Expr checked_literal(int64_t, Span);
  Expr condition(const ast::Expr&);
  bool range(const std::vector<ast::Expr>& args, Span where, ScopeLoop& loop, bool takes_data);
  void absorb_data_loops(Body&);
  std::optional<int64_t> step_of(const ast::Expr&);
  std::optional<std::vector<Expr>> indices(const ast::Expr& access, uint32_t tensor);

  // Values (resolve_value.cpp, resolve_calls.cpp).
  Value value(const ast::Expr&);
  Value value_name(const ast::Expr&);
  Value value_load(const ast::Expr&);
  Value value_binary(const ast::Expr&);
  Value value_compare(const ast::Expr&);
  Value truth(const ast::Expr&);
  Value compare(scalar::BinaryOp, const Value&, const Value&, Span);
  Value limited(Value);
  Value load_of(uint32_t tensor, std::vector<Expr> index, Span);
  Value call(const ast::Expr&);
  Value function(const ast::Expr&, std::vector<Value> args);
  void unknown_function(const ast::Expr&);
  std::string with_arguments(const std::string& pattern, const ast::Expr& call) const;
  Value cast_call(const ast::Expr&, scalar::Elem);
  Value select_of(const ast::Expr& cond, const ast::Expr& then, const ast::Expr& otherwise, Span);
  Value fma_of(const ast::Expr&, const std::vector<Value>& args);
  static bool is_known_function(std::string_view name);
  bool takes(const ast::Expr& call, size_t count);
  bool takes_several(const ast::Expr& call);

  // Reductions (resolve_reduction.cpp, resolve_hidden.cpp).
  struct Reduction {
    ReduceOp op = ReduceOp::Sum;
    bool is_arg = false;
    Span where;
    uint32_t first = 0; ///< scope position of the first index
    uint32_t count = 0;
    Value body;
  };
  struct Use {
    uint32_t tensor;
    uint32_t dim;
    Span where;
  };
  bool is_reduction(const ast::Expr& call);
  bool open_reduction(const ast::Expr& call, Reduction&);
  bool bind(const ast::Expr& binder, const ast::Expr& body, const ast::Expr& call);
  std::string unused_name(const std::string& name) const;
  bool infer_range(std::string_view name, Span where, const ast::Expr& body, ScopeLoop&);
  void close_reduction(const Reduction&);
  Value hidden_reduction(const Reduction&);

  /// Where a reduction is computed: the loops around it, by scope position, outermost first.
  struct Nest {
    std::vector<uint32_t> order;
    uint32_t base = 0;              ///< loops before this one exist already
    uint32_t own = 0;               ///< the last `own` loops are the reduction's indices
    bool is_inside = false;         ///< in the nest of the statement, not before it
    std::vector<uint32_t> elements; ///< loops that index the hidden temp
  };
  bool nest_for(const Reduction&, Nest&);
  uint32_t make_hidden(const char* stem, scalar::Elem, const Nest&);
  std::vector<Expr> element(const Nest&, bool in_nest) const;
  Expr moved(const Expr&, const Nest&) const;
  Body reduction_body(const Reduction&, const Nest&, uint32_t tensor, std::vector<Expr> index,
                      const Expr& update, bool with_init);
  Body arg_of_elements(const Reduction&, const Nest&, uint32_t tensor, std::vector<Expr> index);
  Body arg_body(const Reduction&, const Nest&, uint32_t tensor, std::vector<Expr> index);
  Body wrapped(const Nest&, size_t from, size_t to, Body inner) const;

  // Assignments (resolve_assign.cpp).
  static constexpr uint32_t kNoTensor = UINT32_MAX; ///< of a `let`
  struct Assignment {
    uint32_t loops = 0; ///< scope size at the statement
    uint32_t nest = 0;  ///< with the free indices of its target
    uint32_t tensor = kNoTensor;
    Span where;
    Body before, inside;
  };
  void assign(const ast::Statement&, Body& out);
  std::optional<std::vector<Expr>> target(const ast::Statement&, uint32_t& tensor);
  std::optional<std::vector<Expr>> target_index(const ast::Expr&, uint32_t tensor);
  bool push_free(const ast::Expr& index, uint32_t tensor, uint32_t dim);
  bool whole_reduction(const ast::Statement&, const std::vector<Expr>& index, Body& out);
  std::vector<uint32_t> elements_of(const std::vector<Expr>& index) const;
  void plain_value(const ast::Statement&, std::vector<Expr> index, Body& out);
  std::optional<Expr> stored(const Value&, uint32_t tensor);
  StatementRef add_statement(uint32_t tensor, std::vector<Expr> index, ReduceOp op, Expr value,
                             const std::vector<uint32_t>& loops);
  scalar::Elem compute_elem(uint32_t tensor) const;

  const ast::File& file_;
  Report& report_;
  Program program_;
  std::unordered_map<std::string, Symbol> symbols_;
  std::unordered_set<std::string> reported_;
  std::vector<ScopeLoop> scope_;
  std::vector<Local> constants_, locals_;
  Frame frame_;
  uint32_t inlined_ = 0;
  Assignment* assignment_ = nullptr;
  uint32_t hidden_ = 0;
};

/// Numbers the statements S0, S1, ... in the order of the body.
void number_statements(Program&);

} // namespace kawara::program
