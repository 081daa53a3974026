#include "oracle/shrink.h"

namespace kawara::oracle {

using schedule::Directive;
using schedule::Group;

namespace {

std::vector<Case> without_a_directive(const Case& from) {
  std::vector<Case> smaller;
  for (size_t d = 0; d < from.directives.size(); ++d) {
    Case next = from;
    next.directives.erase(next.directives.begin() + static_cast<std::ptrdiff_t>(d));
    smaller.push_back(std::move(next));
    if (const auto* group = std::get_if<Group>(&from.directives[d]))
      for (size_t m = 0; m < group->members.size(); ++m) {
        Group rest = *group;
        rest.members.erase(rest.members.begin() + static_cast<std::ptrdiff_t>(m));
        Case less = from;
        less.directives[d] = rest.members.size() == 1 ? rest.members[0] : Directive(rest);
        smaller.push_back(std::move(less));
      }
  }
  return smaller;
}

/// Every body with one node changed by `change`, which appends the variants of a node: each is what
/// the node is replaced by.
using Change = std::function<std::vector<std::vector<SketchNode>>(const SketchNode&)>;

std::vector<std::vector<SketchNode>> changed(const std::vector<SketchNode>& body,
                                             const Change& change) {
  std::vector<std::vector<SketchNode>> variants;
  for (size_t k = 0; k < body.size(); ++k) {
    const auto replace = [&](const std::vector<SketchNode>& by) {
      std::vector<SketchNode> next(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(k));
      next.insert(next.end(), by.begin(), by.end());
      next.insert(next.end(), body.begin() + static_cast<std::ptrdiff_t>(k) + 1, body.end());
      variants.push_back(std::move(next));
    };
    for (const auto& by : change(body[k]))
      replace(by);
    for (const auto& inner : changed(body[k].body, change)) {
      SketchNode node = body[k];
      node.body = inner;
      replace({node});
    }
    for (const auto& inner : changed(body[k].otherwise, change)) {
      SketchNode node = body[k];
      node.otherwise = inner;
      replace({node});
    }
  }
  return variants;
}

std::vector<std::vector<SketchNode>> smaller_node(const SketchNode& node) {
  std::vector<std::vector<SketchNode>> variants{{}};
  const auto add = [&](auto&& edit) {
    SketchNode next = node;
    edit(next);
    variants.push_back({next});
  };
  if (node.kind == SketchNode::Kind::If) {
    variants.push_back(node.body);
    variants.push_back(node.otherwise);
  } else if (node.kind == SketchNode::Kind::Loop) {
    if (node.step != 1 && node.step > 0)
      add([](SketchNode& n) { n.step = 1; });
    if (!node.hi_min.empty())
      add([](SketchNode& n) { n.hi_min.clear(); });
    if (!node.lo.terms.empty() && node.step > 0)
      add([](SketchNode& n) { n.lo = {}; });
    if (!node.hi.terms.empty() || node.hi.constant > 2)
      add([](SketchNode& n) { n.hi = {2, {}}; });
    if (node.lo.constant != 0)
      add([](SketchNode& n) { n.lo.constant = 0; });
  } else {
    for (size_t l = 0; l < node.loads.size(); ++l)
      add([l](SketchNode& n) {
        n.loads.erase(n.loads.begin() + static_cast<std::ptrdiff_t>(l));
        n.factors.erase(n.factors.begin() + static_cast<std::ptrdiff_t>(l));
        if (!n.forms.empty())
          n.forms.erase(n.forms.begin() + static_cast<std::ptrdiff_t>(l));
        n.has_name = n.has_name && !n.loads.empty();
      });
    for (size_t l = 0; l < node.forms.size(); ++l)
      if (node.forms[l].kind != SketchForm::Kind::Plain)
        add([l](SketchNode& n) { n.forms[l] = {}; });
    if (node.has_name)
      add([](SketchNode& n) { n.has_name = false; });
    if (node.takes_max)
      add([](SketchNode& n) { n.takes_max = false; });
    if (node.constant != 0)
      add([](SketchNode& n) { n.constant = 0; });
    for (size_t l = 0; l < node.factors.size(); ++l)
      if (node.factors[l] != 1)
        add([l](SketchNode& n) { n.factors[l] = 1; });
  }
  return variants;
}

std::vector<Case> smaller_cases(const Case& from) {
  std::vector<Case> smaller = without_a_directive(from);
  for (auto& body : changed(from.sketch.body, smaller_node)) {
    Case next = from;
    next.sketch.body = std::move(body);
    smaller.push_back(std::move(next));
  }
  for (size_t p = 0; p < from.sketch.params.size(); ++p)
    if (from.sketch.params[p].second > 1) {
      Case next = from;
      --next.sketch.params[p].second;
      smaller.push_back(std::move(next));
    }
  if (!from.sketch.numerics.empty()) {
    Case next = from;
    next.sketch.numerics.clear();
    smaller.push_back(std::move(next));
  }
  return smaller;
}

} // namespace

Case shrunk(Case from, const std::function<bool(const Case&)>& still_fails) {
  for (bool is_smaller = true; is_smaller;) {
    is_smaller = false;
    for (Case& next : smaller_cases(from))
      if (still_fails(next)) {
        from = std::move(next);
        is_smaller = true;
        break;
      }
  }
  return from;
}

} // namespace kawara::oracle
