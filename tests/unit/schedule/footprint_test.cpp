#include "unit/schedule/programs.h"

#include "poly/syntactic/plain_boxes.h"
#include "scalar/eval.h"
#include "schedule/buffers/footprint.h"
#include "schedule/tree/rewrite.h"

#include <random>

namespace kawara::schedule {
namespace {

using scalar::Expr;

/// Iterations of `i` read elements of one parity: which are the first and last, and whether there
/// is any, needs divisions.
constexpr const char* kParity = R"(param N
input T: f32[2 * N]
inout A: f32[N]
for i in range(N):
    for j in range(N):
        if (i - j) % 2 == 0:
            A[j] += T[i - j + N]
)";

/// Which residues an element has: a case of its own for each set of them.
constexpr const char* kResidues = R"(param N
input T: f32[2 * N]
inout A: f32[N]
for i in range(N):
    for j in range(N):
        if (i + j) % 2 < 1:
            if (i + 2 * j) % 3 < 2:
                if (i + 3 * j) % 4 < 3:
                    A[j] += T[i - j + N]
)";

/// The elements of A that one `i` touches, and where they begin, have dozens of cases: which bound
/// of the loops and which access decides depends on both sizes.
constexpr const char* kBand = R"(param N, M
input A: f32[N + M + 1, N + M + 1]
inout Y: f32[N + M + 3]
for i in range(8):
    for j in range(max(0, i - 2), min(M, i + 3)):
        for k in range(max(0, j - 2), min(N, j + 3)):
            Y[j] += A[N - 1 - k, k + 1] * A[N - 1 - k, j + 1] * A[j, j + k]
)";

/// Empty: none.
std::string refusal_under(const char* program, const char* schedule,
                          const Environment& environment) {
  const Schedule start = initial(program);
  const auto result = apply(start, directives(schedule), environment);
  return result ? "" : render(explain(start, result.error(), environment));
}

TEST(Footprint, OfEverySecondElementTakesFewOperations) {
  Environment frugal = test_environment();
  frugal.quota /= 400;
  EXPECT_EQ(
      refusal_under(kParity, "stage(T, i, panel=0, width=2); promote(T_staged, d0.1)", frugal), "");
  EXPECT_EQ(refusal_under(kParity, "stage(T, i, d0=4); promote(T_staged, S2.d0)", frugal), "");
  const std::string grows = refusal_under(kParity, "stage(T, i); promote(T_staged, d0)", frugal);
  EXPECT_NE(grows.find("K0256"), std::string::npos) << grows;
}

TEST(Footprint, WithVeryManyCasesTakesFewOperations) {
  Environment frugal = test_environment();
  frugal.quota /= 20;
  EXPECT_EQ(refusal_under(kBand, "stage(A, i)", frugal), "");
  EXPECT_EQ(refusal_under(kBand, "stage(A, i, d0=2); cut(i, 7)", frugal), "");
}

/// A piece of a box is a loop nest of its own.
TEST(Footprint, HasFewPieces) {
  const Schedule start = initial(kBand);
  const auto staged = apply(start, directives("stage(A, i, d0=2)"), test_environment());
  ASSERT_TRUE(staged);
  for (const poly::ScopStatement& statement : staged->scop.statements)
    EXPECT_LE(statement.domain.n_basic_set(), 8U) << statement.text.name;
}

/// Rows of a tile begin at 0 or where the band begins.
TEST(Footprint, BeginsAtTheLargestOfItsEnds) {
  const char* band = R"(param N
inout A: f32[N + 2, N + 2]
input B: f32[N, N], C: f32[N, N + 2]
for i in range(0, N):
    for j in range(max(0, 2 * i - 6), min(N + 2, 2 * i + 1)):
        for k in range(1, N):
            A[j, i + 2] += B[i, k] * C[k, j]
)";
  const auto staged =
      apply(initial(band),
            directives("split(i, 512); split(j, 7); reorder(i.0, j.0, k, j.1, i.1); "
                       "stage(C, j.0)"),
            test_environment());
  ASSERT_TRUE(staged);
  const program::Tensor& copy = staged->scop.tensors.back();
  EXPECT_EQ(scalar::evaluate_index(copy.shape[2], {}, {5000}), 4999);
  EXPECT_EQ(scalar::evaluate_index(copy.shape[3], {}, {5000}), 7);
}

TEST(Footprint, WithVeryManyDivisionsIsInOnePiece) {
  const auto staged = apply(initial(kResidues), directives("stage(T, i)"), test_environment());
  ASSERT_TRUE(staged);
  EXPECT_EQ(staged->scop.statements.back().domain.n_basic_set(), 1U);
}

/// Rows of 3 N - 1 elements in tiles of 128, those in tiles of 8.
constexpr const char* kRows = R"(param N
assume N >= 2
assume N <= 1000000000
input A: f32[N, 3 * N - 1, 4]
input B: f32[N, 3 * N - 1, 4]
output C: f32[N, 3 * N - 1, 3 * N - 1]
C[n, i, j] = sum(k, A[n, i, k] * B[n, j, k])
)";

TEST(Footprint, IsNotWhatAnAssumptionLeavesOfASize) {
  const auto result =
      apply(initial(kRows), directives("split(j, 128); split(S1.j.1, 8); pack(B, n)"),
            test_environment());
  ASSERT_TRUE(result);
  const auto& packed = result->scop.tensors.back();
  ASSERT_EQ(packed.name, "B_packed");
  for (const int64_t n : {2, 3, 43, 44, 100, 5000}) {
    std::vector<int64_t> extents;
    for (const Expr& extent : packed.shape)
      extents.push_back(scalar::evaluate_index(extent, {}, {n}).value_or(-1));
    EXPECT_EQ(extents, (std::vector<int64_t>{n, (3 * n - 1 + 127) / 128, 16, 8, 4})) << n;
  }
}

Expr tile_of(const Expr& e, int64_t size) {
  return scalar::simplify(scalar::binary(scalar::BinaryOp::FloorDiv, e, scalar::int_lit(size)));
}
Expr place_of(const Expr& e, int64_t size) {
  return scalar::simplify(scalar::binary(scalar::BinaryOp::Mod, e, scalar::int_lit(size)));
}

std::string text_of(const Boxes& boxes) {
  std::string text;
  for (size_t d = 0; d < boxes.first.size(); ++d)
    text +=
        scalar::to_string(boxes.first[d], {}) + "+" + scalar::to_string(boxes.extent[d], {}) + " ";
  return text;
}

TEST(PlainBoxes, AreWhatSetsSay) {
  const poly::ContextPtr context = poly::make_context();
  const isl::set box(context->get(), "{ S[i, j] : 0 <= i < 100 and 0 <= j < 7 }");
  std::mt19937 random(3);
  size_t seen = 0;
  for (int turn = 0; turn < 150; ++turn) {
    // Loops over i and j as tiles make them; the outer ones count blocks, or places in them.
    std::vector<Expr> rows{scalar::iter(0), scalar::iter(1)};
    for (size_t cuts = random() % 5; cuts > 0; --cuts) {
      const size_t at = random() % rows.size();
      const auto size = static_cast<int64_t>(1 + random() % 12);
      rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(at) + 1, place_of(rows[at], size));
      rows[at] = tile_of(rows[at], size);
    }
    const auto split = static_cast<std::ptrdiff_t>(random() % rows.size());
    if (random() % 3 == 0)
      std::swap(rows.front(), rows.back());
    const std::vector<Expr> outer(rows.begin(), rows.begin() + split),
        inner(rows.begin() + split, rows.end());
    const auto plain = poly::plain_boxes(outer, inner, box);
    if (!plain)
      continue;
    ++seen;
    const isl::map relation = map_of(outer, box, {}).reverse().apply_range(map_of(inner, box, {}));
    EXPECT_EQ(text_of(*plain),
              text_of(boxes_of(relation, outer.size(), inner.size(), {}, box.params(), *context)));
  }
  EXPECT_GT(seen, 40U);
}

TEST(PlainBoxes, AreMissingWhereTheyDiffer) {
  const poly::ContextPtr context = poly::make_context();
  const isl::set box(context->get(), "{ S[i, j] : 0 <= i < 100 and 0 <= j < 7 }");
  const isl::set triangle(context->get(), "{ S[i, j] : 0 <= i < 100 and 0 <= j <= i }");
  const Expr i = scalar::iter(0), j = scalar::iter(1);
  EXPECT_FALSE(poly::plain_boxes({tile_of(i, 8)}, {i}, box))
      << "each box has a first element of its own";
  EXPECT_FALSE(poly::plain_boxes({place_of(i, 2)}, {place_of(i, 8)}, box));
  EXPECT_FALSE(poly::plain_boxes({i}, {j}, triangle));
  EXPECT_FALSE(poly::plain_boxes({}, {i + j}, box));
}

} // namespace
} // namespace kawara::schedule
