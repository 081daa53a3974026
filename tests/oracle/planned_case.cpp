#include "oracle/planned_case.h"

#include "program/interpret/instruction.h"
#include "schedule/schedule.h"
#include "support/check.h"

namespace kawara::oracle {
namespace {

int64_t draw(std::mt19937_64& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

template <class T, size_t N> const T& one_of(std::mt19937_64& random, const T (&from)[N]) {
  return from[random() % N];
}

/// Sizes as numbers or as parameters.
struct Sizes {
  std::vector<std::pair<std::string, int64_t>> all;
  bool is_open = false;
  std::string operator[](size_t k) const {
    return is_open ? all[k].first : std::to_string(all[k].second);
  }
  std::string declaration() const {
    std::string text;
    for (const auto& [name, value] : all)
      text += (text.empty() ? "param " : ", ") + name;
    return is_open ? text + "\n" : "";
  }
};

struct Types {
  const char *left, *right, *sum;
  const char* instruction; ///< that multiplies them
};
constexpr Types kProducts[] = {
    {"f32", "f32", "f32", "neon.fmla"}, {"f16", "f16", "f16", "neon.fmla_f16"},
    {"i8", "i8", "i32", "neon.sdot"},   {"i8", "i8", "i32", "neon.smmla"},
    {"u8", "u8", "i32", "neon.udot"},   {"i8", "u8", "i32", "neon.sudot"}};

Sketch product(std::mt19937_64& random) {
  const Types& types = one_of(random, kProducts);
  const Sizes sizes{
      {{"M", draw(random, 2, 5)}, {"N", draw(random, 4, 12)}, {"K", draw(random, 4, 9)}},
      draw(random, 0, 2) == 0};
  const bool turns_left = draw(random, 0, 3) == 0, turns_right = draw(random, 0, 3) == 0;
  const auto matrix = [&](const std::string& rows, const std::string& columns, bool turns) {
    return "[" + (turns ? columns + ", " + rows : rows + ", " + columns) + "]";
  };
  const std::string sum(types.sum);
  Sketch sketch;
  if (sizes.is_open)
    sketch.params = sizes.all;
  sketch.text = "numerics fast\n" + sizes.declaration() + "input A: " + types.left +
                matrix(sizes[0], sizes[2], turns_left) + ", B: " + types.right +
                matrix(sizes[2], sizes[1], turns_right) + "\noutput C: " + sum + "[" + sizes[0] +
                ", " + sizes[1] + "]\nfor i in range(" + sizes[0] + "):\n    for j in range(" +
                sizes[1] + "):\n        C[i, j] = 0\nfor i in range(" + sizes[0] +
                "):\n    for j in range(" + sizes[1] + "):\n        for k in range(" + sizes[2] +
                "):\n            C[i, j] += A" + matrix("i", "k", turns_left) + " * B" +
                matrix("k", "j", turns_right) + "\n";
  sketch.instruction = types.instruction;
  return sketch;
}

constexpr const char* kTerms[] = {"exp(s[i, j] - m[i])",
                                  "exp(s[i, j] - m[i]) * t[i, j]",
                                  "t[i, j] * c[i] * exp(s[i, j] - m[i])",
                                  "exp(s[i, j] - m[i]) / 8",
                                  "-exp(s[i, j] - m[i])",
                                  "exp(0.5 * (s[i, j] - m[i]))",
                                  "exp(s[i, j] - m[i]) * exp(s[i, j] - m[i])",
                                  "exp(s[i, j] - m[i]) + t[i, j] * exp(s[i, j] - m[i])",
                                  "t[i, j] * rsqrt(m[i] * m[i] + 1)"};

/// m the greatest of each row, l a sum that needs it, and where `has_result` o, which needs both.
Sketch rows(std::mt19937_64& random) {
  const Sizes sizes{{{"M", draw(random, 1, 3)}, {"N", draw(random, 1, 7)}},
                    draw(random, 0, 1) == 0};
  const bool has_result = draw(random, 0, 1) == 0;
  const std::string m = sizes[0], n = sizes[1], term = one_of(random, kTerms);
  Sketch sketch;
  if (sizes.is_open)
    sketch.params = sizes.all;
  sketch.text = sizes.declaration() + "input s: f32[" + m + ", " + n + "], t: f32[" + m + ", " + n +
                "], c: f32[" + m + "], v: f32[" + n + ", 2]\noutput l: f32[" + m + "]" +
                (has_result ? ", o: f32[" + m + ", 2]" : "") + "\ntemp m: f32[" + m +
                "]\nm[i] = max(j, s[i, j])\nfor i in range(" + m +
                "):\n    l[i] = 0\n    for j in range(" + n + "):\n        l[i] += " + term + "\n";
  if (has_result)
    sketch.text += "for i in range(" + m + "):\n    for d in range(2):\n        o[i, d] = 0\n" +
                   "for i in range(" + m + "):\n    for j in range(" + n +
                   "):\n        for d in range(2):\n            o[i, d] += exp(s[i, j] - m[i]) / "
                   "8 * v[j, d]\n";
  sketch.has_second_sum = has_result;
  // Sums are corrected on the way; numbers are of the order of one.
  sketch.tolerance = 1e-3;
  return sketch;
}

std::string plan_of_product(const Sketch& sketch, std::mt19937_64& random) {
  std::vector<const target::Intrinsic*> known;
  for (const target::Intrinsic& data : target::intrinsics())
    if (!data.is_collective && !data.is_tile)
      known.push_back(&data);
  const target::Intrinsic* data = draw(random, 0, 7) == 0
                                      ? known[random() % known.size()]
                                      : target::find_intrinsic(sketch.instruction);
  const program::Instruction& instruction = program::instruction_of(*data);
  const bool is_block = instruction.axes.size() == 3;
  const int64_t lanes = instruction.result().shape.back() * (is_block ? 1 : draw(random, 1, 2));
  const int64_t depth = instruction.axes.size() > 1 ? instruction.extents.back() : 1;
  const bool has_depth = depth > 1;
  std::string text = "split(S1.j, " + std::to_string(lanes) + "); split(S1.i, " +
                     std::to_string(is_block ? 2 : draw(random, 2, 3)) + "); ";
  if (has_depth)
    text += "split(S1.k, " + std::to_string(depth) + "); ";
  text += std::string("reorder(S1.j.0, S1.i.0, ") + (has_depth ? "S1.k.0" : "S1.k") +
          ", S1.i.1, S1.j.1" + (has_depth ? ", S1.k.1" : "") + "); ";
  if (draw(random, 0, 9) != 0)
    text += "pack(B, S1.j.0); ";
  if (draw(random, 0, 9) != 0)
    text += "pack(A, S1.i.0); ";
  if (!is_block && draw(random, 0, 1) == 0)
    text += "unroll(S1.i.1); ";
  return text + "tensorize(" + (is_block ? "S1.i.1" : "S1.j.1") + ", " + std::string(data->name) +
         ")";
}

std::string plan_of_rows(const Sketch& sketch, std::mt19937_64& random) {
  const bool takes_second = sketch.has_second_sum && draw(random, 0, 3) != 0;
  std::string text = "fuse(S1.i, S3.i)";
  std::vector<std::string> loops{"S1.j", "S3.j"};
  if (takes_second) {
    text += "; fuse(S1.i, S5.i)";
    loops.push_back("S5.j");
  }
  const int64_t width = draw(random, 2, 3);
  const bool has_tiles = draw(random, 0, 1) == 0;
  std::string names;
  for (const std::string& loop : loops) {
    if (has_tiles)
      text += "; split(" + loop + ", " + std::to_string(width) + ")";
    names += (names.empty() ? "" : ", ") + loop + (has_tiles ? ".0" : "");
  }
  return text + "; online(" + names + ")";
}

} // namespace

bool has_plan(uint64_t seed) { return seed % 8 == 3; }

Sketch planned_program(uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 17);
  return draw(random, 0, 1) == 0 ? product(random) : rows(random);
}

std::vector<schedule::Directive> random_plan(const Sketch& sketch, std::mt19937_64& random) {
  const std::string text =
      sketch.instruction.empty() ? plan_of_rows(sketch, random) : plan_of_product(sketch, random);
  auto plan = schedule::parse_directives(make_source("plan", text));
  KAWARA_CHECK(plan, "a plan is a list of directives: " + text);
  return *std::move(plan);
}

} // namespace kawara::oracle
