#include "program/text/resolver.h"

#include <fmt/format.h>

namespace kawara::program {

namespace {

void collect(Body& body, std::vector<uint32_t>& order) {
  for (BodyNode& node : body) {
    if (auto* ref = std::get_if<StatementRef>(&node)) {
      order.push_back(ref->statement);
      ref->statement = uint32_t(order.size() - 1);
    } else if (auto* loop = std::get_if<Loop>(&node)) {
      collect(loop->body, order);
    } else {
      collect(std::get<If>(node).then, order);
      collect(std::get<If>(node).otherwise, order);
    }
  }
}

} // namespace

void number_statements(Program& program) {
  std::vector<uint32_t> order;
  collect(program.body, order);
  std::vector<Statement> statements;
  for (uint32_t old : order) {
    statements.push_back(std::move(program.statements[old]));
    statements.back().name = fmt::format("S{}", statements.size() - 1);
  }
  program.statements = std::move(statements);
}

} // namespace kawara::program
