#include "oracle/triangles/triangle.h"

#include <algorithm>
#include <random>

namespace kawara::oracle {
namespace {

/// A, B, ...; M and N are sizes, and after Z come A1, B1, ...
std::string tensor_name(size_t number) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLOPQRSTUVWXYZ";
  const size_t round = number / kLetters.size();
  return kLetters[number % kLetters.size()] + (round == 0 ? "" : std::to_string(round));
}

/// Around the sizes that tiles and vectors have.
constexpr int64_t kSizes[] = {1,  2,  3,  4,  4,  5,  5,  6,  7,  7,  8,  8,  9, 9,
                              11, 12, 13, 15, 16, 17, 19, 23, 24, 25, 31, 32, 33};
constexpr size_t kSmallSizes = 20; ///< the first of them, for deep nests

/// Values that a loop can have: from a number to a sum of parameters.
struct Hull {
  int64_t first = 0;
  Linear last;
};

Linear number(int64_t n) {
  Linear e;
  e.constant = n;
  return e;
}

int64_t factor_of(const std::vector<int64_t>& factors, size_t at) {
  return at < factors.size() ? factors[at] : 0;
}

void add(std::vector<int64_t>& factors, size_t at, int64_t by) {
  if (factors.size() <= at)
    factors.resize(at + 1, 0);
  factors[at] += by;
}

Linear plus(Linear a, const Linear& b, int64_t times = 1) {
  a.constant += times * b.constant;
  for (size_t l = 0; l < b.loops.size(); ++l)
    add(a.loops, l, times * b.loops[l]);
  for (size_t p = 0; p < b.params.size(); ++p)
    add(a.params, p, times * b.params[p]);
  return a;
}

class TriangleMaker {
public:
  explicit TriangleMaker(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15ULL + 77) {}

  Triangle made() {
    choose_types();
    choose_params();
    const int64_t form = draw(0, 99);
    if (form < 35)
      add_product();
    else if (form < 50)
      add_chain();
    else
      for (int64_t nests = draw(1, 3); nests > 0; --nests)
        program_.body.push_back(nest(0));
    choose_roles();
    return std::move(program_);
  }

private:
  int64_t draw(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int64_t percent) { return draw(1, 100) <= percent; }

  void choose_types() {
    const int64_t form = draw(0, 99);
    read_ = written_ = form < 38   ? "f32"
                       : form < 50 ? "f64"
                       : form < 65 ? "i8"
                       : form < 78 ? "i32"
                       : form < 90 ? "bf16"
                       : form < 95 ? "i8, i32"
                                   : "bf16, f32";
    if (const size_t comma = read_.find(','); comma != std::string::npos) {
      written_ = read_.substr(comma + 2);
      read_ = read_.substr(0, comma);
    }
    const char* contracts[] = {"", "exact", "rounding", "fast"};
    program_.numerics = contracts[draw(0, 3)];
  }

  void choose_params() {
    const bool is_open = chance(50);
    if (is_open)
      program_.params.push_back("N");
    if (is_open && chance(30))
      program_.params.push_back("M");
    program_.sizes.resize(is_open ? 3 : 1);
    for (auto& sizes : program_.sizes)
      for (size_t p = 0; p < program_.params.size(); ++p)
        sizes.push_back(chance(5) ? 0 : some_number());
  }

  int64_t some_number() { return kSizes[static_cast<size_t>(draw(0, kSmallSizes - 1))]; }

  /// The extent of a loop: a number, a parameter, or nearly one.
  Linear some_size() {
    if (program_.params.empty() || chance(20))
      return number(chance(15) ? kSizes[draw(0, std::size(kSizes) - 1)] : some_number());
    Linear e = number(chance(75) ? 0 : draw(1, 2));
    add(e.params, static_cast<size_t>(draw(0, static_cast<int64_t>(program_.params.size()) - 1)),
        1);
    return e;
  }

  Linear of_loop(size_t loop, int64_t constant, int64_t factor = 1) const {
    Linear e = number(constant);
    add(e.loops, loop, factor);
    return e;
  }

  size_t some_loop() {
    return scope_[static_cast<size_t>(draw(0, static_cast<int64_t>(scope_.size()) - 1))];
  }

  /// The largest value of a sum, in the parameters; the divisor does not make it larger, since
  /// nothing is negative.
  Linear largest(const Linear& e) const {
    Linear top = number(e.constant);
    top.params = e.params;
    for (size_t l = 0; l < e.loops.size(); ++l)
      if (e.loops[l] > 0)
        top = plus(top, hulls_[l].last, e.loops[l]);
      else
        top.constant += e.loops[l] * hulls_[l].first;
    return top;
  }

  /// A number that the sum never goes below, or that is no use where a factor is negative: loops
  /// begin at 0 or later.
  int64_t smallest(const Linear& e) const {
    int64_t low = e.constant;
    for (size_t l = 0; l < e.loops.size(); ++l) {
      if (e.loops[l] < 0)
        return 0;
      low += e.loops[l] * hulls_[l].first;
    }
    return low / e.divisor;
  }

  TriangleNode loop_over(const Linear& size) {
    TriangleNode node;
    node.is_loop = true;
    node.loop = program_.loops.size();
    node.name = std::string(1, "ijkl"[scope_.size()]);
    program_.loops.push_back(node.name);
    node.lo = {number(0)};
    node.hi = {size};
    return node;
  }

  /// Bounds that depend on loops around it.
  void cut(TriangleNode& node, const Linear& size) {
    const size_t v = some_loop(), w = some_loop();
    const int64_t a = draw(0, 4), b = draw(1, 5);
    switch (draw(0, 15)) {
    case 0:
    case 1:
      node.lo = {of_loop(v, 0)};
      break;
    case 2:
      node.lo = {of_loop(v, draw(1, 3))};
      break;
    case 3:
    case 4:
      node.hi = {of_loop(v, 1)};
      break;
    case 5:
      node.hi = {of_loop(v, draw(0, 3))};
      break;
    case 6:
      node.lo = {number(0), of_loop(v, -a)};
      node.hi = {size, of_loop(v, b)};
      break;
    case 7:
      node.lo = {number(0), of_loop(v, -a)};
      node.hi = {size, of_loop(w, b)};
      break;
    case 8:
      node.hi = {size, of_loop(v, b)};
      break;
    case 9:
      node.lo = {of_loop(v, 0)};
      node.lo[0].divisor = 2;
      break;
    case 10:
      node.hi = {plus(size, of_loop(v, 0), -1)};
      break;
    case 11:
      node.lo = {number(0), of_loop(v, -draw(2, 9), 2)};
      node.hi = {size, of_loop(v, b, 2)};
      break;
    case 12:
      node.lo = {of_loop(v, 0), of_loop(w, 0)};
      break;
    case 13:
      node.hi = {of_loop(v, 1), of_loop(w, b)};
      break;
    case 14:
      node.lo = {number(0), plus(of_loop(v, -a), of_loop(w, 0), chance(50) ? 1 : -1)};
      break;
    default:
      node.lo = {number(1)};
      node.hi = {size, plus(of_loop(v, b), of_loop(w, 0))};
      break;
    }
  }

  void enter(const TriangleNode& node, const Linear& size) {
    Hull hull;
    for (const Linear& e : node.lo)
      hull.first = std::max(hull.first, smallest(e));
    const auto has_loops = [](const Linear& e) {
      return std::any_of(e.loops.begin(), e.loops.end(), [](int64_t f) { return f != 0; });
    };
    Linear end = largest(node.hi[0]);
    for (const Linear& e : node.hi)
      if (!has_loops(e))
        end = size;
    hull.last = plus(end, number(-1));
    hulls_.push_back(hull);
    scope_.push_back(node.loop);
  }

  TriangleNode some_nest_loop() {
    const Linear size = some_size();
    TriangleNode node = loop_over(size);
    if (!scope_.empty() && chance(75))
      cut(node, size);
    else if (chance(20))
      node.lo = {number(draw(1, 3))};
    if (chance(6))
      node.step = draw(2, 3);
    enter(node, size);
    return node;
  }

  TriangleNode nest(size_t depth) {
    TriangleNode node = some_nest_loop();
    const int64_t count = chance(70) ? 1 : draw(2, 3);
    for (int64_t n = 0; n < count; ++n)
      node.body.push_back(depth < 2 && (depth == 0 ? chance(92) : chance(60)) ? nest(depth + 1)
                                                                              : statement());
    scope_.pop_back();
    return node;
  }

  size_t tensor(const std::string& elem, size_t rank) {
    for (size_t t = 0; t < program_.tensors.size(); ++t)
      if (program_.tensors[t].elem == elem && program_.tensors[t].shape.size() == rank &&
          program_.tensors[t].role.empty() && chance(45))
        return t;
    TriangleTensor made;
    made.name = tensor_name(program_.tensors.size());
    made.elem = elem;
    made.shape.resize(rank);
    program_.tensors.push_back(made);
    is_written_.push_back(false);
    return program_.tensors.size() - 1;
  }

  /// An index that stays inside: the tensor grows to it.
  Linear inside(size_t tensor, size_t dimension, Linear e) {
    Linear low = number(e.constant);
    for (size_t l = 0; l < e.loops.size(); ++l)
      if (e.loops[l] >= 0)
        low.constant += e.loops[l] * hulls_[l].first;
      else
        low = plus(low, hulls_[l].last, e.loops[l]);
    const bool is_low = low.constant < 0 || std::any_of(low.params.begin(), low.params.end(),
                                                        [](int64_t f) { return f != 0; });
    if (is_low)
      e = plus(e, low, -1);
    const Linear top = largest(e);
    Linear& extent = program_.tensors[tensor].shape[dimension];
    extent.constant = std::max({extent.constant, top.constant + 1, int64_t{0}});
    for (size_t p = 0; p < top.params.size(); ++p)
      add(extent.params, p, std::max<int64_t>(0, top.params[p] - factor_of(extent.params, p)));
    return e;
  }

  Linear some_index() {
    if (scope_.empty() || chance(4))
      return number(draw(0, 3));
    Linear e = of_loop(some_loop(), chance(65) ? 0 : draw(-1, 2));
    if (chance(7))
      e = plus(e, of_loop(some_loop(), 0), chance(60) ? 1 : -1);
    if (chance(5))
      e = of_loop(some_loop(), draw(0, 2), chance(50) ? 2 : -1);
    return e;
  }

  std::vector<Linear> some_element(size_t tensor) {
    std::vector<Linear> index;
    for (size_t d = 0; d < program_.tensors[tensor].shape.size(); ++d)
      index.push_back(inside(tensor, d, some_index()));
    return index;
  }

  TriangleValue load(size_t tensor, std::vector<Linear> index) const {
    TriangleValue v;
    v.kind = TriangleValue::Kind::Load;
    v.tensor = tensor;
    v.index = std::move(index);
    return v;
  }

  TriangleValue some_load() {
    const size_t t = tensor(chance(70) ? read_ : written_, static_cast<size_t>(draw(1, 2)));
    return load(t, some_element(t));
  }

  static TriangleValue of_two(TriangleValue::Kind kind, TriangleValue a, TriangleValue b) {
    TriangleValue v;
    v.kind = kind;
    v.operands = {std::move(a), std::move(b)};
    return v;
  }

  TriangleValue some_value() {
    using Kind = TriangleValue::Kind;
    TriangleValue v = some_load();
    const int64_t form = draw(0, 99);
    if (form < 45)
      v = of_two(Kind::Multiply, v, some_load());
    else if (form < 60)
      v = of_two(chance(60) ? Kind::Add : Kind::Subtract, v, some_load());
    else if (form < 66)
      v = of_two(chance(50) ? Kind::Max : Kind::Min, v, some_load());
    if (chance(8)) {
      TriangleValue more;
      more.kind = chance(50) ? Kind::Loop : Kind::Number;
      more.number = more.kind == Kind::Loop ? static_cast<int64_t>(some_loop()) : draw(1, 3);
      v = of_two(Kind::Add, v, more);
    }
    return v;
  }

  TriangleNode store(size_t tensor, std::vector<Linear> index, std::string op,
                     TriangleValue value) {
    is_written_[tensor] = true;
    TriangleNode node;
    node.tensor = tensor;
    node.index = std::move(index);
    node.op = std::move(op);
    node.value = std::move(value);
    return node;
  }

  TriangleNode statement() {
    const size_t t = tensor(written_, static_cast<size_t>(chance(75) ? 2 : 1));
    std::vector<Linear> index = some_element(t);
    const int64_t form = draw(0, 99);
    const bool is_whole = written_[0] == 'i';
    const std::string op = form < 62   ? "+="
                           : form < 82 ? "="
                           : form < 87 ? "max="
                           : form < 92 ? "min="
                           : form < 97 ? "-="
                           : is_whole  ? "*="
                                       : "+=";
    return store(t, std::move(index), op, some_value());
  }

  TriangleValue zero() const { return {}; }

  /// C[row, column] += A * B over triangles, operands and results in any order, in one nest or
  /// after one that starts C.
  void add_product() {
    const bool starts_inside = chance(50);
    std::vector<TriangleNode> loops;
    for (size_t depth = 0; depth < 3; ++depth)
      loops.push_back(some_nest_loop());
    std::vector<size_t> role = {0, 1, 2};
    if (!starts_inside)
      std::shuffle(role.begin(), role.end(), random_);
    const size_t c = fresh(written_, 2), a = fresh(read_, 2), b = fresh(read_, 2);
    const auto element = [&](size_t tensor, size_t first, size_t second, bool may_turn = true) {
      if (may_turn && chance(35))
        std::swap(first, second);
      return std::vector<Linear>{
          inside(tensor, 0, of_loop(loops[first].loop, chance(90) ? 0 : draw(1, 2))),
          inside(tensor, 1, of_loop(loops[second].loop, chance(90) ? 0 : draw(1, 2)))};
    };
    const std::vector<Linear> result = element(c, role[0], role[1]);
    TriangleValue product =
        of_two(TriangleValue::Kind::Multiply, load(a, element(a, role[0], role[2])),
               load(b, element(b, role[2], role[1])));
    if (chance(12))
      product = of_two(TriangleValue::Kind::Add, product, some_load());
    loops[2].body.push_back(store(c, result, chance(94) ? "+=" : "max=", product));
    if (starts_inside)
      loops[1].body.push_back(store(c, result, "=", zero()));
    scope_.pop_back();
    loops[1].body.push_back(loops[2]);
    if (chance(15))
      loops[1].body.push_back(statement());
    scope_.pop_back();
    loops[0].body.push_back(loops[1]);
    scope_.pop_back();
    program_.body.push_back(loops[0]);
    if (chance(20))
      program_.body.push_back(nest(0));
  }

  size_t fresh(const std::string& elem, size_t rank) {
    TriangleTensor made;
    made.name = tensor_name(program_.tensors.size());
    made.elem = elem;
    made.shape.resize(rank);
    program_.tensors.push_back(made);
    is_written_.push_back(false);
    return program_.tensors.size() - 1;
  }

  /// A temp that one nest fills and another, over a triangle of it, reads.
  void add_chain() {
    const size_t temp = fresh(written_, 2);
    program_.tensors[temp].name = "T";
    program_.tensors[temp].role = "temp";
    const Linear rows = some_size(), columns = some_size();
    TriangleNode outer = loop_over(rows);
    enter(outer, rows);
    TriangleNode inner = loop_over(columns);
    enter(inner, columns);
    const std::vector<Linear> element = {inside(temp, 0, of_loop(outer.loop, 0)),
                                         inside(temp, 1, of_loop(inner.loop, 0))};
    inner.body.push_back(store(temp, element, "=", chance(50) ? zero() : some_value()));
    if (chance(60)) {
      TriangleNode sum = some_nest_loop();
      sum.body.push_back(store(temp, element, "+=", some_value()));
      scope_.pop_back();
      inner.body.push_back(sum);
    }
    scope_.pop_back();
    outer.body.push_back(inner);
    scope_.pop_back();
    program_.body.push_back(outer);
    // Rows and columns of the temp alone, in a nest that is cut.
    TriangleNode i = loop_over(rows);
    enter(i, rows);
    TriangleNode j = loop_over(columns);
    j.hi = chance(50) ? std::vector<Linear>{columns, of_loop(i.loop, draw(1, 4))}
                      : std::vector<Linear>{columns};
    j.lo = chance(50) ? std::vector<Linear>{of_loop(i.loop, 0)} : std::vector<Linear>{number(0)};
    enter(j, columns);
    const std::vector<Linear> read = {of_loop(i.loop, 0), of_loop(j.loop, 0)};
    const size_t to = fresh(written_, static_cast<size_t>(draw(1, 2)));
    TriangleValue value = load(temp, read);
    if (chance(50))
      value = of_two(TriangleValue::Kind::Multiply, value, some_load());
    j.body.push_back(store(to, some_element(to), chance(65) ? "+=" : "=", value));
    scope_.pop_back();
    i.body.push_back(j);
    scope_.pop_back();
    program_.body.push_back(i);
  }

  void choose_roles() {
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      TriangleTensor& tensor = program_.tensors[t];
      if (tensor.role.empty())
        tensor.role = !is_written_[t] ? "input" : chance(35) ? "output" : "inout";
      for (Linear& extent : tensor.shape)
        extent.constant += extent.constant == 0 && extent.params.empty() ? 1 : chance(85) ? 0 : 1;
    }
  }

  std::mt19937_64 random_;
  Triangle program_;
  std::string read_, written_; ///< element types
  std::vector<bool> is_written_;
  std::vector<size_t> scope_; ///< loops around the present place
  std::vector<Hull> hulls_;   ///< of all loops, by number
};

} // namespace

Triangle random_triangle(uint64_t seed) { return TriangleMaker(seed).made(); }

} // namespace kawara::oracle
