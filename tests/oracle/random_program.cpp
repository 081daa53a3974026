#include "oracle/random_program.h"

#include <array>
#include <random>

namespace kawara::oracle {
namespace {

enum class ProgramKind : uint8_t { Plain, Indices, Forms, Scans };

class Generator {
public:
  explicit Generator(uint64_t seed, ProgramKind kind = ProgramKind::Plain)
      : random_(seed * 0x9e3779b97f4a7c15ULL + 1), is_float_(seed % 4 == 0),
        reads_indices_(kind == ProgramKind::Indices), has_scans_(kind == ProgramKind::Scans),
        has_scalar_(!reads_indices_ && seed % 3 == 2) {
    sketch_.has_forms = kind == ProgramKind::Forms;
  }

  Sketch program() {
    const int64_t params = draw(0, 9) < 3 ? 0 : draw(0, 9) < 7 ? 1 : 2;
    for (int64_t p = 0; p < params; ++p)
      sketch_.params.emplace_back(p == 0 ? "N" : "M", draw(3, 6));
    if (chance(15))
      sketch_.numerics = "exact";
    make_tensors();
    statements_left_ = draw(1, 4);
    if (chance(30))
      add_temp_stage();
    if (has_scalar_)
      add_scalar();
    do
      sketch_.body.push_back(loop(0));
    while (statements_left_ > 0);
    return sketch_;
  }

private:
  int64_t draw(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int64_t percent) { return draw(1, 100) <= percent; }

  std::string elem(bool is_small) {
    if (sketch_.has_forms && !is_float_ && chance(40)) {
      const std::array<const char*, 6> others{"i16", "i8", "u8", "u16", "u32", "u64"};
      return others[static_cast<size_t>(draw(0, 5))];
    }
    return std::string(is_float_ ? "f" : "i") + (is_small ? "32" : "64");
  }

  void make_tensors() {
    const int64_t count = draw(1, 3);
    for (int64_t t = 0; t < count; ++t) {
      SketchTensor tensor{std::string(1, static_cast<char>('A' + t)), "inout", elem(chance(80)),
                          static_cast<size_t>(draw(1, 2))};
      if (chance(6))
        tensor.rank = 0;
      if (t > 0 && chance(20))
        tensor.role = "output";
      sketch_.tensors.push_back(tensor);
    }
    visible_ = sketch_.tensors.size();
    if (!reads_indices_)
      return;
    sketch_.tensors.push_back({"I", "input", "i32", 1});
    sketch_.tensors.push_back({"J", "input", chance(50) ? "i64" : "u8", 1});
    sketch_.tensors.push_back({"P", "input", "i32", 1});
  }

  /// An index that is read.
  Affine read_index() {
    Affine e = plain_index();
    e.data = Affine::Data::Read;
    e.through = chance(60) ? "I" : "J";
    std::vector<std::string> rows;
    for (size_t t = 0; t < visible_; ++t)
      if (sketch_.tensors[t].rank == 1)
        rows.push_back(sketch_.tensors[t].name);
    if (chance(25) && !rows.empty()) {
      e.data = Affine::Data::Clamped;
      e.through = rows[static_cast<size_t>(draw(0, static_cast<int64_t>(rows.size()) - 1))];
    }
    return e;
  }

  Affine index() { return reads_indices_ && chance(30) ? read_index() : plain_index(); }

  Affine size() {
    if (sketch_.params.empty() || chance(15))
      return {draw(3, 5), {}};
    const auto p = static_cast<size_t>(draw(0, static_cast<int64_t>(sketch_.params.size()) - 1));
    return {chance(80) ? 0 : draw(-1, 1), {{sketch_.params[p].first, 1}}};
  }

  /// A nest that fills a temp, plainly or by a reduction, and makes it readable for what follows.
  void add_temp_stage() {
    const auto rank = static_cast<size_t>(draw(1, 2));
    const size_t temp = sketch_.tensors.size();
    sketch_.tensors.push_back({"T", "temp", elem(true), rank});
    const bool is_sum = chance(35);
    std::vector<SketchNode> loops;
    SketchLoad element{temp, {}};
    for (size_t d = 0; d < rank; ++d) {
      SketchNode node;
      node.kind = SketchNode::Kind::Loop;
      node.name = d == 0 ? "i" : "j";
      node.fills = {temp, d};
      scope_.push_back(node.name);
      element.index.push_back({0, {{node.name, 1}}});
      loops.push_back(node);
    }
    SketchNode fill = statement(element, "=");
    std::vector<SketchNode> inside;
    if (is_sum) {
      fill.loads.clear();
      fill.factors.clear();
      SketchNode over = bare_loop("k");
      scope_.push_back("k");
      over.body.push_back(statement(element, "+="));
      scope_.pop_back();
      inside = {fill, over};
    } else {
      inside = {fill};
    }
    for (size_t d = rank; d-- > 0;) {
      loops[d].body = inside;
      inside = {loops[d]};
    }
    scope_.clear();
    sketch_.body.push_back(inside[0]);
    temp_ = temp;
    has_temp_ = true;
  }

  /// A scalar that statements write and read in turn; sometimes it has a value from the start, so
  /// that any statement may read it.
  void add_scalar() {
    scalar_ = sketch_.tensors.size();
    sketch_.tensors.push_back({"s", "temp", elem(chance(85)), 0});
    if (!chance(40))
      return;
    SketchNode start;
    start.kind = SketchNode::Kind::Statement;
    start.target = {scalar_, {}};
    start.op = "=";
    start.constant = draw(0, 3);
    sketch_.body.push_back(start);
    is_readable_ = true;
  }

  /// `s = ...`, perhaps a sum in it, and one or two statements that read it.
  void add_scalar_use(std::vector<SketchNode>& nodes, size_t depth) {
    nodes.push_back(statement({scalar_, {}}, "="));
    if (depth < 3 && chance(50)) {
      SketchNode over = bare_loop(std::string(1, "ijk"[depth]));
      scope_.push_back(over.name);
      over.body.push_back(statement({scalar_, {}}, chance(75) ? "+=" : "max="));
      scope_.pop_back();
      nodes.push_back(over);
    }
    const int64_t readers = chance(75) ? 1 : 2;
    for (int64_t k = 0; k < readers; ++k) {
      SketchNode reader = statement();
      if (chance(50)) {
        reader.op = "=";
        reader.loads.clear();
        reader.factors.clear();
        reader.forms.clear();
        reader.has_name = false;
        reader.constant = 0;
        reader.takes_max = false;
      }
      read_scalar(reader);
      nodes.push_back(reader);
    }
  }

  void read_scalar(SketchNode& node) {
    node.loads.push_back({scalar_, {}});
    node.factors.push_back(chance(70) ? 1 : 2);
    if (!node.forms.empty())
      node.forms.emplace_back();
  }

  SketchNode bare_loop(const std::string& name) {
    SketchNode node;
    node.kind = SketchNode::Kind::Loop;
    node.name = name;
    node.hi = size();
    return node;
  }

  SketchNode loop(size_t depth) {
    SketchNode node = bare_loop(std::string(1, "ijk"[depth]));
    const int64_t form = draw(0, 99);
    if (form < 15 && !scope_.empty()) {
      const std::string outer = some_loop();
      if (chance(50))
        node.lo = {draw(0, 1), {{outer, 1}}};
      else
        node.hi = {draw(0, 1), {{outer, 1}}};
    } else if (form < 20 && !scope_.empty()) {
      node.hi_min.push_back({2, {{some_loop(), 1}}});
    } else if (form < 28) {
      node.step = draw(2, 3);
    } else if (form < 36) {
      node.lo = {node.hi.constant - 1, node.hi.terms};
      node.hi = {-1, {}};
      node.step = -draw(1, 2);
    } else if (form < 50) {
      node.lo.constant = draw(1, 2);
    }
    scope_.push_back(node.name);
    node.body = body(depth + 1);
    scope_.pop_back();
    return node;
  }

  std::vector<SketchNode> body(size_t depth) {
    std::vector<SketchNode> nodes;
    if (has_scalar_ && chance(45))
      add_scalar_use(nodes, depth);
    do {
      const bool may_nest = depth < 3 && (depth < 2 || chance(45));
      SketchNode node = may_nest && chance(65) ? loop(depth) : statement();
      nodes.push_back(chance(10) ? guarded(node) : node);
    } while (statements_left_ > 0 && chance(45));
    return nodes;
  }

  SketchNode guarded(const SketchNode& inner) {
    SketchNode node;
    node.kind = SketchNode::Kind::If;
    node.left = {draw(-1, 1), {{some_loop(), 1}}};
    if (scope_.size() > 1 && chance(40))
      node.left.terms.emplace_back(scope_.front() == node.left.terms[0].first ? scope_.back()
                                                                              : scope_.front(),
                                   chance(50) ? 1 : -1);
    if (chance(30)) {
      node.modulus = 2;
      node.relation = "==";
    } else {
      node.relation = chance(50) ? "<" : ">=";
      node.right = {draw(1, 3), {}};
    }
    node.body.push_back(inner);
    if (statements_left_ > 0 && chance(30))
      node.otherwise.push_back(statement());
    return node;
  }

  std::string some_loop() {
    return scope_[static_cast<size_t>(draw(0, static_cast<int64_t>(scope_.size()) - 1))];
  }

  Affine plain_index() {
    Affine e{chance(50) ? 0 : draw(-1, 1), {{some_loop(), 1}}};
    if (chance(10))
      e.terms[0].second = chance(50) ? 2 : -1;
    if (scope_.size() > 1 && chance(10)) {
      const std::string other = some_loop();
      if (other != e.terms[0].first)
        e.terms.emplace_back(other, chance(60) ? 1 : -1);
    }
    if (chance(4))
      e.terms.clear();
    return e;
  }

  SketchLoad access(size_t tensor) {
    SketchLoad load{tensor, {}};
    for (size_t d = 0; d < sketch_.tensors[tensor].rank; ++d)
      load.index.push_back(index());
    return load;
  }

  /// `A[.., i] = A[.., i - 1] + ...`, now and then with something that makes it no scan.
  SketchNode scan(size_t tensor) {
    SketchLoad target = access(tensor);
    target.index.back() = {draw(0, 1), {{scope_.back(), 1}}};
    SketchNode node = statement(target, chance(75) ? "=" : "+=");
    if (chance(75))
      for (SketchLoad& load : node.loads)
        if (load.tensor == tensor)
          load = target;
    target.index.back().constant += chance(70) ? -1 : chance(70) ? 1 : draw(-2, 2);
    node.loads.push_back(target);
    node.factors.push_back(chance(90) ? 1 : 2);
    return node;
  }

  SketchNode statement() {
    const auto t = static_cast<size_t>(draw(0, static_cast<int64_t>(visible_) - 1));
    if (has_scans_ && !scope_.empty() && sketch_.tensors[t].rank > 0 && chance(60))
      return scan(t);
    const int64_t form = draw(0, 99);
    SketchNode node = statement(access(t), form < 55   ? "="
                                           : form < 85 ? "+="
                                           : form < 95 ? "max="
                                                       : "*=");
    // Reading the written element's neighbours makes recurrences and stencils.
    if (chance(45)) {
      SketchLoad near = node.target;
      for (Affine& e : near.index)
        e.constant += draw(-1, 1);
      node.loads.push_back(near);
      node.factors.push_back(1);
    }
    if (reads_indices_ && chance(12))
      run_over_range(node);
    if (has_temp_ && chance(60)) {
      node.loads.push_back(access(temp_));
      node.factors.push_back(chance(70) ? 1 : 2);
    }
    if (is_readable_ && chance(15))
      read_scalar(node);
    if (sketch_.has_forms && !scope_.empty())
      add_forms(node);
    return node;
  }

  void add_forms(SketchNode& node) {
    for (size_t k = 0; k < node.loads.size(); ++k) {
      SketchForm form;
      const auto last = static_cast<int64_t>(SketchForm::Kind::Last);
      if (chance(70))
        form.kind = static_cast<SketchForm::Kind>(draw(0, last));
      const bool is_of_bits =
          form.kind >= SketchForm::Kind::And && form.kind <= SketchForm::Kind::Xor;
      if (is_of_bits && is_float_)
        form.kind = SketchForm::Kind::Clamp;
      form.number = draw(1, 3);
      form.left = plain_index();
      form.right = {draw(0, 3), {}};
      node.forms.push_back(form);
    }
    node.has_name = !node.loads.empty() && chance(30);
  }

  /// Some of its indices become the value of a loop over a range that is read.
  void run_over_range(SketchNode& node) {
    node.over = Affine{draw(0, 1), {{some_loop(), 1}}};
    const auto take = [&](SketchLoad& load) {
      for (Affine& e : load.index)
        if (chance(40))
          e = Affine{0, {}, Affine::Data::Range};
    };
    for (SketchLoad& load : node.loads)
      take(load);
    if (chance(30))
      take(node.target);
  }

  SketchNode statement(SketchLoad target, std::string op) {
    --statements_left_;
    SketchNode node;
    node.kind = SketchNode::Kind::Statement;
    node.target = std::move(target);
    node.op = std::move(op);
    node.constant = draw(0, 3);
    node.takes_max = chance(15);
    const int64_t loads = draw(0, 2);
    for (int64_t k = 0; k < loads; ++k) {
      const auto t = static_cast<size_t>(draw(0, static_cast<int64_t>(visible_) - 1));
      node.loads.push_back(access(t));
      node.factors.push_back(chance(70) ? 1 : draw(2, 3));
    }
    return node;
  }

  std::mt19937_64 random_;
  bool is_float_;
  bool reads_indices_, has_scans_;
  Sketch sketch_;
  size_t visible_ = 0; ///< tensors that any statement may touch
  int64_t statements_left_ = 0;
  std::vector<std::string> scope_;
  bool has_temp_ = false;
  size_t temp_ = 0;
  bool has_scalar_, is_readable_ = false;
  size_t scalar_ = 0;
};

} // namespace

Sketch random_program(uint64_t seed) { return Generator(seed).program(); }
Sketch random_indexed_program(uint64_t seed) {
  return Generator(seed, ProgramKind::Indices).program();
}
Sketch random_program_with_forms(uint64_t seed) {
  return Generator(seed, ProgramKind::Forms).program();
}

Sketch random_program_with_scans(uint64_t seed) {
  return Generator(seed, ProgramKind::Scans).program();
}

} // namespace kawara::oracle
