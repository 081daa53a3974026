#include "graph/errors.h"

namespace kawara::graph {

Diagnostic model_error(std::string code, std::string headline, std::string why, std::string help) {
  Diagnostic d;
  d.code = std::move(code);
  d.headline = std::move(headline);
  if (!why.empty())
    d.body.push_back(std::move(why));
  if (!help.empty())
    d.help.push_back({"", std::move(help), false});
  return d;
}

} // namespace kawara::graph
