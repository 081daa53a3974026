#pragma once

#include "program/errors.h"
#include "program/text/ast.h"
#include "program/text/token.h"

#include <set>

namespace kawara::program {

/// Builds the ast::File of one text; reports at most one error per line and goes on with the next.
///
/// After an error the parser is in panic: every reader returns at once with a Bad part, until the
/// line (and, where its header was lost, the block under it) has been skipped.
class Parser {
public:
  Parser(Tokens tokens, Report& report) : tokens_(std::move(tokens)), report_(report) {}
  ast::File parse_file();

private:
  // Limits that keep every recursive walk over the result within a small stack.
  static constexpr uint32_t kMaxBlocks = 64;
  static constexpr uint32_t kMaxNesting = 200;
  static constexpr uint32_t kMaxHeight = 500;

  // Reading tokens and recovering from errors (parser.cpp).
  const Token& peek(size_t ahead = 0) const;
  bool at(std::string_view text) const { return peek().is(text); }
  bool at(TokenKind kind) const { return peek().kind == kind; }
  Token take();
  bool accept(std::string_view text);
  bool expect(std::string_view text, const char* purpose);
  Token expect_name(const char* purpose);
  void fail(const char* code, Span where, std::string headline, std::string label = {},
            std::vector<Help> help = {});
  void fail_expected(const std::string& what);
  bool is_line_bad() const;
  bool is_slice() const;
  bool is_loop_head() const;
  void finish_line();
  void skip_line();
  void skip_block();
  void stray_indent();
  Span since(uint32_t begin) const { return {begin, last_end_}; }

  // Declarations (parse_declarations.cpp).
  bool declaration(ast::File&);
  std::string_view declaring_word();
  void assumptions(ast::File&);
  void params(ast::File&);
  void function(ast::File&);
  void function_body(ast::FunctionDecl&, Span header);
  void function_line(ast::FunctionDecl&);
  void tensors(ast::File&, Role, bool is_constant);
  void tensor(ast::File&, Role, bool is_constant, std::string_view& elem);
  void numerics(ast::File&);

  // Statements (parse_loops.cpp).
  void statement(std::vector<ast::Statement>&);
  void stray_statement();
  void stray_block(std::vector<ast::Statement>&);
  ast::Statement for_loop();
  ast::Statement if_else();
  ast::Statement let();
  void assignment(std::vector<ast::Statement>&);
  void not_a_statement(const Token& first);
  bool assign_op(ast::Statement&);
  void no_quotient_update(const ast::Expr& target);
  void no_counting(const ast::Expr& target);
  std::vector<ast::Statement> block(Span header);
  void colon(Span header);

  // Expressions (parse_expr.cpp).
  ast::Expr expr();
  ast::Expr or_expr();
  ast::Expr and_expr();
  ast::Expr not_expr();
  ast::Expr comparison();
  ast::Expr bits(int level);
  ast::Expr sum();
  ast::Expr product();
  ast::Expr signed_expr();
  ast::Expr atom();
  ast::Expr name_or_call();
  void second_brackets(std::string_view name, uint32_t begin);
  ast::Expr argument();
  std::vector<ast::Expr> list(std::string_view close, bool binders);
  ast::Expr node(ast::Kind, uint32_t begin, std::vector<ast::Expr> args);
  ast::Expr binary(scalar::BinaryOp, ast::Expr lhs, ast::Expr rhs);
  bool enter(Span where);

  // Declarations and casts as C has them (parse_types_first.cpp).
  std::string_view elem_at(size_t ahead) const;
  bool at_typed_name() const;
  void tensor_of_type(ast::TensorDecl&);
  void typed_value(std::vector<ast::Statement>&);
  bool at_cast() const;
  ast::Expr cast();

  Tokens tokens_;
  Report& report_;
  size_t pos_ = 0;
  size_t line_begin_ = 0; ///< first token of the current line
  uint32_t last_end_ = 0;
  bool panic_ = false;
  uint32_t blocks_ = 0;
  uint32_t nesting_ = 0;
  std::set<std::string_view> refused_names_; ///< reserved words that were declared
};

} // namespace kawara::program
