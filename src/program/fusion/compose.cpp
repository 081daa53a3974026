#include "program/fusion/compose.h"

#include "program/fusion/inline_maps.h"
#include "program/fusion/nests.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace kawara::program::fusion {
namespace {

std::string text_of_extents(const Extents& extents) {
  std::vector<std::string> parts;
  for (const int64_t extent : extents)
    parts.push_back(std::to_string(extent));
  return "[" + join(parts, ", ") + "]";
}

/// Cuts loops until all parts see each value under one shape.
class Aligner {
public:
  explicit Aligner(std::vector<Part>& parts) : parts_(parts) {}

  std::optional<std::string> align() {
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      std::map<ValueId, Extents> shapes;
      for (Part& part : parts_)
        for (uint32_t t = 0; t < part.values.size(); ++t)
          if (auto problem = meet(part, t, shapes))
            return problem;
      for (Part& part : parts_)
        for (uint32_t t = 0; t < part.values.size(); ++t)
          if (auto problem = bring(part, t, shapes, is_changed))
            return problem;
    }
    return std::nullopt;
  }

private:
  static std::optional<std::string> meet(const Part& part, uint32_t t,
                                         std::map<ValueId, Extents>& shapes) {
    if (part.values[t] == kNoValue)
      return std::nullopt;
    const Extents own = extents_of(part.program.tensors[t]);
    const auto [at, is_new] = shapes.emplace(part.values[t], own);
    const auto both = common_refinement(at->second, own);
    if (!both)
      return fmt::format("its elements are arranged as {} and as {}", text_of_extents(at->second),
                         text_of_extents(own));
    at->second = *both;
    return std::nullopt;
  }

  static std::optional<std::string>
  bring(Part& part, uint32_t t, const std::map<ValueId, Extents>& shapes, bool& is_changed) {
    if (part.values[t] == kNoValue)
      return std::nullopt;
    const Extents& wanted = shapes.at(part.values[t]);
    const Extents own = extents_of(part.program.tensors[t]);
    // Finer than asked: another value of the part was cut in this round. The next one brings the
    // other parts.
    if (common_refinement(wanted, own) == own)
      return std::nullopt;
    auto cut = refined(part.program, t, wanted);
    if (!cut)
      return fmt::format("loops over {} would have to be cut to {}", text_of_extents(own),
                         text_of_extents(wanted));
    part.program = *std::move(cut);
    is_changed = true;
    return std::nullopt;
  }

  std::vector<Part>& parts_;
};

/// Statement numbers of a body moved by `by`.
Body renumbered(Body body, uint32_t by) {
  for (BodyNode& node : body) {
    if (auto* loop = std::get_if<Loop>(&node)) {
      loop->body = renumbered(std::move(loop->body), by);
    } else if (auto* branch = std::get_if<If>(&node)) {
      branch->then = renumbered(std::move(branch->then), by);
      branch->otherwise = renumbered(std::move(branch->otherwise), by);
    } else {
      std::get<StatementRef>(node).statement += by;
    }
  }
  return body;
}

/// Puts the parts one after the other.
class Joiner {
public:
  Joiner(const std::vector<Part>& parts, const std::set<ValueId>& needed)
      : parts_(parts), needed_(needed) {
    for (const Part& part : parts)
      for (size_t t = 0; t < part.values.size(); ++t)
        if (part.values[t] != kNoValue && part.program.tensors[t].role == Role::Output)
          made_.insert(part.values[t]);
  }

  Program join() {
    for (const Part& part : parts_) {
      std::vector<uint32_t> places;
      for (size_t t = 0; t < part.program.tensors.size(); ++t)
        places.push_back(place_of(part.program.tensors[t], part.values[t]));
      add(part.program, places);
    }
    return std::move(out_);
  }

  std::map<ValueId, uint32_t> tensors; ///< of the joined program

private:
  uint32_t place_of(const Tensor& tensor, ValueId value) {
    const auto known = tensors.find(value);
    if (value != kNoValue && known != tensors.end())
      return known->second;
    Tensor own = tensor;
    if (value == kNoValue || (made_.count(value) && !needed_.count(value)))
      own.role = Role::Temp;
    else
      own.role = made_.count(value) ? Role::Output : Role::Input;
    own.is_hidden = false;
    const auto place = static_cast<uint32_t>(out_.tensors.size());
    out_.tensors.push_back(std::move(own));
    if (value != kNoValue)
      tensors[value] = place;
    return place;
  }

  void add(const Program& part, const std::vector<uint32_t>& places) {
    const auto first = static_cast<uint32_t>(out_.statements.size());
    for (Statement s : part.statements) {
      s.tensor = places[s.tensor];
      s.value = scalar::rewrite(s.value, [&](const Expr& e) -> Expr {
        const auto* load = scalar::as<scalar::Load>(e);
        return load ? scalar::load(places[load->tensor], load->index, e.type()) : Expr{};
      });
      s.name = "S" + std::to_string(out_.statements.size());
      out_.statements.push_back(std::move(s));
    }
    for (BodyNode& node : renumbered(part.body, first))
      out_.body.push_back(std::move(node));
  }

  const std::vector<Part>& parts_;
  const std::set<ValueId>& needed_;
  std::set<ValueId> made_;
  Program out_;
};

std::set<uint32_t> mentioned_tensors(const Program& program, const Body& body) {
  std::set<uint32_t> found;
  for (const BodyNode& node : body) {
    if (const auto* loop = std::get_if<Loop>(&node)) {
      found.merge(mentioned_tensors(program, loop->body));
    } else if (const auto* branch = std::get_if<If>(&node)) {
      found.merge(mentioned_tensors(program, branch->then));
      found.merge(mentioned_tensors(program, branch->otherwise));
    } else {
      const Statement& s = program.statements[std::get<StatementRef>(node).statement];
      found.insert(s.tensor);
      scalar::visit(s.value, [&](const Expr& e) {
        if (const auto* load = scalar::as<scalar::Load>(e))
          found.insert(load->tensor);
      });
    }
  }
  return found;
}

/// Only what the body mentions: operands X0, X1, ..., results Y0, ..., temps T0, ....
struct Tidy {
  Program program;
  std::vector<std::optional<uint32_t>> places; ///< of the old tensors
};

Tidy tidied(const Program& from) {
  const std::set<uint32_t> used = mentioned_tensors(from, from.body);
  Tidy tidy{from, std::vector<std::optional<uint32_t>>(from.tensors.size())};
  tidy.program.tensors.clear();
  const auto take = [&](Role role, const char* prefix) {
    int64_t number = 0;
    for (uint32_t t = 0; t < from.tensors.size(); ++t) {
      if (from.tensors[t].role != role || used.count(t) == 0)
        continue;
      tidy.places[t] = static_cast<uint32_t>(tidy.program.tensors.size());
      tidy.program.tensors.push_back(from.tensors[t]);
      tidy.program.tensors.back().name = prefix + std::to_string(number++);
    }
  };
  take(Role::Input, "X");
  take(Role::Output, "Y");
  take(Role::Temp, "T");
  const auto place = [&](uint32_t t) { return tidy.places[t].value_or(0); };
  for (Statement& s : tidy.program.statements) {
    s.tensor = place(s.tensor);
    s.value = scalar::rewrite(s.value, [&](const Expr& e) -> Expr {
      const auto* load = scalar::as<scalar::Load>(e);
      return load ? scalar::load(place(load->tensor), load->index, e.type()) : Expr{};
    });
  }
  return tidy;
}

/// Is the tensor added up, so that a schedule can hold its elements until they are finished?
bool is_sum(const Program& program, uint32_t tensor) {
  return std::any_of(program.statements.begin(), program.statements.end(), [&](const Statement& s) {
    return s.tensor == tensor && s.op == ReduceOp::Sum;
  });
}

} // namespace

Result<Joined, std::string> joined(std::vector<Part> parts, const std::set<ValueId>& needed) {
  for (Part& part : parts)
    part.program = without_unit_dims(std::move(part.program));
  if (auto problem = Aligner(parts).align())
    return fail(*std::move(problem));
  Joiner joiner(parts, needed);
  const Tidy tidy = tidied(joiner.join());
  Joined out{print(tidy.program), {}};
  for (const auto& [value, tensor] : joiner.tensors)
    if (tidy.places[tensor])
      out.names[value] = tidy.program.tensors[*tidy.places[tensor]].name;
  if (!parse(make_source("joined.kw", out.text)))
    return fail(std::string("the values have no common text"));
  return out;
}

Result<Composed, std::string> compose(std::vector<Part> parts, const std::set<ValueId>& needed) {
  for (Part& part : parts)
    part.program = without_unit_dims(std::move(part.program));
  if (auto problem = Aligner(parts).align())
    return fail(*std::move(problem));
  Joiner joiner(parts, needed);
  const Program whole = inline_maps(joiner.join());
  const Tidy tidy = tidied(whole);
  Composed out;
  for (const auto& [value, tensor] : joiner.tensors) {
    if (!tidy.places[tensor] || whole.tensors[tensor].role != Role::Temp)
      continue;
    if (const int64_t reads = reads_per_element(tidy.program, *tidy.places[tensor]); reads > 1)
      return fail(fmt::format("each element of the value would be used {} times", reads));
    if (!is_sum(tidy.program, *tidy.places[tensor]))
      return fail(std::string("the value would be stored all the same"));
  }
  std::map<uint32_t, ValueId> by_place;
  for (const auto& [value, tensor] : joiner.tensors)
    if (tidy.places[tensor])
      by_place[*tidy.places[tensor]] = value;
  for (uint32_t t = 0; t < tidy.program.tensors.size(); ++t)
    if (tidy.program.tensors[t].role == Role::Input)
      out.operands.push_back(by_place.at(t));
    else if (tidy.program.tensors[t].role == Role::Output)
      out.results.push_back(by_place.at(t));
  out.text = print(tidy.program);
  if (!parse(make_source("group.kw", out.text)))
    return fail(std::string("the values have no common text"));
  return out;
}

} // namespace kawara::program::fusion
