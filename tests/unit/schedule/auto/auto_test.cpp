#include "unit/schedule/auto/facts.h"

#include "poly/legality/legality.h"
#include "schedule/auto/facts/function_latency.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

TEST(Auto, tiles_a_matrix_product_for_registers) {
  const Schedule product = by_default(kGemm);
  EXPECT_TRUE(is_packed(product, "A") && is_packed(product, "B")) << loops_of(product);
  const LoopsAround update = around(product, 1);
  EXPECT_EQ(update.lanes_along(), "j") << loops_of(product);
  EXPECT_EQ(update.lanes(), 4);
  EXPECT_EQ(update.unrolled(), (std::set<std::string>{"i", "j"})) << "a tile of results";
  EXPECT_EQ(update.depth_of_steps("k"), static_cast<int64_t>(update.loops.size()) - 3)
      << "the sum runs around the tile, and around nothing else\n"
      << loops_of(product);
  EXPECT_TRUE(prefetches(product)) << "the next tile";
  for (const uint32_t statement : {0, 1, 2, 3})
    EXPECT_TRUE(around(product, statement).is_parallel()) << statement;
}

TEST(Auto, packs_the_operands_of_a_scaled_product) {
  const Schedule scaled = by_default(R"(input alpha: f32, A: f32[300, 200], B: f32[400, 200]
inout C: f32[300, 400]
for i in range(300):
    for j in range(400):
        for k in range(200):
            C[i, j] += alpha * A[i, k] * B[j, k]
)");
  EXPECT_TRUE(is_packed(scaled, "A") && is_packed(scaled, "B")) << loops_of(scaled);
}

TEST(Auto, reads_rows_unpacked_for_few_columns) {
  const auto product = [](int64_t depth, int64_t columns) {
    return by_default(
        fmt::format("input A: f32[128, {0}]\nconst B: f32[{0}, {1}]\noutput C: f32[128, {1}]\n"
                    "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                    depth, columns));
  };
  EXPECT_FALSE(is_copied(product(256, 64), "A")) << loops_of(product(256, 64));
  EXPECT_EQ(around(product(256, 64), 1).copies_of("k"), 8) << "two vectors of a row";
  EXPECT_TRUE(is_packed(product(256, 128), "A")) << loops_of(product(256, 128));
  EXPECT_TRUE(is_packed(product(4096, 64), "A")) << "its rows would share lines";
}

TEST(Auto, packs_weights_for_a_single_row) {
  const auto row = [](const std::string& role) {
    return by_default(
        "input x: f32[1, 512]\n" + role +
        " W: f32[512, 640]\noutput y: f32[1, 640]\ny[i, j] = sum(k, x[i, k] * W[k, j])\n");
  };
  EXPECT_TRUE(is_packed(row("const"), "W")) << "once, for all calls";
  EXPECT_FALSE(is_copied(row("input"), "W")) << "a copy would cost as much as the product";
  EXPECT_FALSE(is_copied(row("const"), "x"));
}

TEST(Auto, transposes_weights_line_by_line) {
  const Schedule rows =
      by_default("input x: f32[1, 256]\nconst W: f32[1024, 256]\noutput y: f32[1, 1024]\n"
                 "y[i, j] = sum(k, x[i, k] * W[j, k])\n");
  ASSERT_TRUE(is_packed(rows, "W")) << loops_of(rows);
  const LoopsAround copy = around(rows, 2);
  EXPECT_EQ(copy.lanes_along(), "j") << loops_of(rows);
  EXPECT_EQ(copy.lanes(), 4);
  EXPECT_EQ(copy.copies_of("k"), 4)
      << "one square of elements is as wide as a line; more of them have the compiler at work";
  EXPECT_TRUE(copy.is_parallel());
}

TEST(Auto, copies_keep_the_lanes_of_their_product) {
  const Schedule rows =
      by_default("input x: f32[64, 256]\nconst W: f32[640, 256]\noutput y: f32[64, 640]\n"
                 "y[i, j] = sum(k, x[i, k] * W[j, k])\n");
  ASSERT_TRUE(is_packed(rows, "W")) << loops_of(rows);
  const LoopsAround copy = around(rows, 2), update = around(rows, 1);
  EXPECT_EQ(copy.lanes_along(), update.lanes_along()) << loops_of(rows);
  EXPECT_EQ(copy.lanes(), update.lanes()) << loops_of(rows);
  EXPECT_TRUE(copy.is_parallel()) << "threads still share it: " << loops_of(rows);
}

TEST(Auto, shares_weights_among_threads_where_few_rows_use_them) {
  const auto is_spread = [](int rows, int width) {
    return around(by_default(fmt::format(
                      "const W: f32[{1}, {1}]\ninput x: f32[{0}, {1}]\noutput y: f32[{0}, {1}]\n"
                      "y[i, j] = sum(k, x[i, k] * W[k, j])\n",
                      rows, width)),
                  1)
        .is_parallel();
  };
  EXPECT_TRUE(is_spread(1, 768)) << "two megabytes of weights";
  EXPECT_TRUE(is_spread(8, 256)) << "half a million multiply-adds";
  EXPECT_FALSE(is_spread(1, 128)) << "64 KiB are read sooner than a thread is there";
  EXPECT_FALSE(is_spread(7, 128)) << "a hundred thousand multiply-adds take a few microseconds";
}

TEST(Auto, transposes_squares_where_reads_and_writes_run_along_different_loops) {
  const LoopsAround copy = around(by_default(R"(param M, N
input X: f32[M, N]
output Y: f32[N, M]
Y[j, i] = X[i, j]
)"),
                                  0);
  EXPECT_EQ(copy.lanes_along(), "i") << "stores are whole vectors";
  EXPECT_EQ(copy.lanes(), 16) << "a line of results";
  EXPECT_EQ(copy.unrolled(), std::set<std::string>{"j"}) << "as many loads beside each other";
  EXPECT_TRUE(copy.is_parallel());
}

TEST(Auto, fuses_where_the_fusion_needs_an_interchange) {
  const Schedule schedule = by_default(R"(param N
input u1: f32[N], v1: f32[N], u2: f32[N], v2: f32[N], y: f32[N]
inout A: f32[N, N], x: f32[N]
for i in range(N):
    for j in range(N):
        A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
for k in range(N):
    for l in range(N):
        x[k] += A[l, k] * y[l]
)");
  ASSERT_EQ(schedule.order.body.size(), 1u);
  EXPECT_EQ(poly::meet(schedule.order, poly::StmtId{0}, poly::StmtId{1}).shared_loops,
            poly::path_of(schedule.order, poly::StmtId{0}).size());
}

TEST(Auto, keeps_time_outside_and_spreads_space) {
  const LoopsAround nest = around(by_default(kJacobi), 0);
  ASSERT_EQ(nest.loops.front().name, "t");
  EXPECT_FALSE(nest.loops.front().marks.is_parallel);
  EXPECT_TRUE(nest.is_parallel());
  EXPECT_EQ(nest.lanes_along(), "i");
}

constexpr const char* kDepthwise = R"(input image: f32[32, 56, 56]
const weight: f32[32, 3, 3]
output out: f32[32, 56, 56]
temp padded: f32[32, 58, 58]
for c in range(32):
    for h in range(58):
        for w in range(58):
            if 1 <= h < 57 and 1 <= w < 57:
                padded[c, h, w] = image[c, h - 1, w - 1]
            else:
                padded[c, h, w] = 0
out[c, h, w] = sum(r, s, padded[c, h + r, w + s] * weight[c, r, s])
)";

TEST(Auto, runs_a_plane_through_padding_and_a_window_in_registers) {
  const Schedule planes = by_default(kDepthwise);
  for (const uint32_t statement : {0, 1, 2})
    EXPECT_GE(shared_loops(planes, statement, 3), 1U) << "a plane at a time\n" << loops_of(planes);
  EXPECT_TRUE(around(planes, 3).loops.front().marks.is_parallel) << loops_of(planes);
  EXPECT_EQ(shared_loops(planes, 2, 3), 3U) << "results start where they end\n" << loops_of(planes);
  EXPECT_EQ(around(planes, 3).unrolled(), (std::set<std::string>{"r", "s", "w"}));
  for (const uint32_t statement : {0, 1, 2, 3})
    EXPECT_EQ(around(planes, statement).lanes_along(), "w") << loops_of(planes);
}

TEST(Auto, what_is_made_of_a_window_follows_it_in_registers) {
  const Schedule schedule = by_default(
      "input X: f32[32, 58, 58]\nconst W: f32[32, 3, 3], B: f32[32]\noutput Y: f32[32, 56, 56]\n"
      "temp T: f32[32, 56, 56]\n\nT[c, h, w] = sum(r, s, X[c, h + r, w + s] * W[c, r, s])\n"
      "Y[c, h, w] = max(T[c, h, w] + B[c], 0.0)\n");
  EXPECT_EQ(shared_loops(schedule, 1, 2), 3U) << "of the same vectors\n" << loops_of(schedule);
  EXPECT_EQ(around(schedule, 1).unrolled(), (std::set<std::string>{"r", "s", "w"}));
  EXPECT_EQ(around(schedule, 2).unrolled(), std::set<std::string>{"w"});
  EXPECT_EQ(around(schedule, 2).lanes(), around(schedule, 1).lanes()) << loops_of(schedule);
}

TEST(Auto, copies_rows_of_images_that_lie_in_many_pages) {
  const auto convolution = [](const std::string& size) {
    return by_default("input image: f32[64, " + size + ", " + size +
                      "]\nconst weight: f32[64, 64, 3, 3]\noutput out: f32[64, 14, 14]\n"
                      "out[k, h, w] = sum(c, r, s, image[c, h + r, w + s] * "
                      "weight[k, c, r, s])\n");
  };
  for (const char* size : {"16", "64"})
    EXPECT_TRUE(is_packed(convolution(size), "weight")) << size;
  EXPECT_FALSE(is_copied(convolution("16"), "image"));
  EXPECT_TRUE(is_copied(convolution("64"), "image")) << loops_of(convolution("64"));
}

TEST(Auto, copies_rows_once_where_blocks_of_weights_stand_around_them) {
  const auto strided = [](int64_t filters, int64_t rows) {
    return by_default(fmt::format("input image: f32[512, {1}, {1}]\nconst weight: f32[{0}, 512]\n"
                                  "output out: f32[{0}, {2}, {2}]\n"
                                  "out[k, h, w] = sum(c, image[c, 2 * h, 2 * w] * weight[k, c])\n",
                                  filters, 2 * rows, rows));
  };
  const Schedule inside = strided(64, 28), before = strided(1024, 7);
  EXPECT_TRUE(is_copied(inside, "image") && is_copied(before, "image"));
  EXPECT_GE(shared_loops(inside, 3, 1), 1U) << "for each row:\n" << loops_of(inside);
  EXPECT_EQ(shared_loops(before, 3, 1), 0U) << "once for all panels:\n" << loops_of(before);
  EXPECT_TRUE(around(before, 3).is_parallel() && around(before, 1).is_parallel());
}

TEST(Auto, calls_panels_of_weights_that_pass_by_once) {
  const auto is_called = [](const std::string& text) { return prefetches(by_default(text)); };
  EXPECT_TRUE(is_called("input V: f32[16, 16, 256]\nconst U: f32[16, 256, 256]\n"
                        "output P: f32[16, 16, 256]\n"
                        "P[a, i, j] = sum(c, V[a, i, c] * U[a, c, j])\n"));
  EXPECT_FALSE(is_called("input image: f32[256, 9, 9]\nconst weight: f32[512, 256, 3, 3]\n"
                         "output out: f32[512, 7, 7]\n"
                         "out[k, h, w] = sum(c, r, s, image[c, h + r, w + s] * "
                         "weight[k, c, r, s])\n"))
      << "they stay for all rows";
}

TEST(Auto, calls_the_next_row_where_several_nests_read_it_from_memory) {
  const auto called = [](const std::string& rows) {
    const Schedule schedule =
        by_default("input X: f32[" + rows + ", 2048], g: f32[2048]\noutput Y: f32[" + rows +
                   ", 2048]\ntemp m: f32[" + rows + "]\nm[i] = max(j, X[i, j])\n" +
                   "Y[i, j] = (X[i, j] - m[i]) * g[j]\n");
    const poly::LoopId rows_loop = poly::path_of(schedule.order, poly::StmtId{0}).front();
    return schedule.order[rows_loop].marks.prefetches.size();
  };
  EXPECT_EQ(called("4096"), 1U) << "X, not g";
  EXPECT_EQ(called("32"), 0U) << "all of it stays in a cache";
}

TEST(Auto, lays_out_temps_by_rows_that_a_l1_does_not_hold) {
  const auto shape_of_padded = [](int64_t channels, int64_t size) {
    const Schedule schedule = by_default(fmt::format(R"(input image: f32[{0}, {1}, {1}]
const weight: f32[64, {0}, 3, 3]
output out: f32[64, {1}, {1}]
temp padded: f32[{0}, {2}, {2}]
for c in range({0}):
    for h in range({2}):
        for w in range({2}):
            if 1 <= h < {3} and 1 <= w < {3}:
                padded[c, h, w] = image[c, h - 1, w - 1]
            else:
                padded[c, h, w] = 0
out[k, h, w] = sum(c, r, s, padded[c, h + r, w + s] * weight[k, c, r, s])
)",
                                                     channels, size, size + 2, size + 1));
    return extents_of(schedule, "padded");
  };
  EXPECT_EQ(shape_of_padded(48, 64), (std::vector<int64_t>{66, 48, 66})) << "many pages";
  EXPECT_EQ(shape_of_padded(64, 14), (std::vector<int64_t>{16, 64, 16})) << "few sets of lines";
  EXPECT_EQ(shape_of_padded(12, 14), (std::vector<int64_t>{12, 16, 16})) << "stays as it is";
}

TEST(Auto, puts_as_many_functions_side_by_side_as_registers_allow) {
  const auto vectors = [](const std::string& value, const char* cpu, int64_t lanes) {
    const Schedule schedule =
        initial("input x: f32[64, 64]\noutput y: f32[64, 64]\ntemp m: f32[64]\n"
                "m[i] = max(j, x[i, j])\ny[i, j] = " +
                value + "\n");
    const auto last = static_cast<uint32_t>(schedule.scop.statements.size() - 1);
    return vectors_of_functions(schedule, poly::StmtId{last}, *target::named_cpu(cpu), lanes);
  };
  EXPECT_EQ(vectors("x[i, j] * m[i]", "neoverse-n1", 4), 0);
  EXPECT_EQ(vectors("exp(x[i, j] - m[i])", "neoverse-n1", 4), 8) << "has the shortest formula";
  EXPECT_EQ(vectors("exp(x[i, j] * m[i])", "neoverse-n1", 4), 4);
  EXPECT_EQ(vectors("exp(m[i] - x[i, j])", "neoverse-n1", 4), 4);
  EXPECT_EQ(vectors("exp(x[i, j] * m[i])", "haswell", 8), 8);
  EXPECT_EQ(vectors("erf(x[i, j]) * m[i]", "haswell", 8), 4);
  EXPECT_EQ(vectors("exp(x[i, j]) * tanh(m[i])", "haswell", 8), 4) << "beside each other already";
  EXPECT_EQ(vectors("exp(x[i, j]) * tanh(m[i]) + exp(x[j, i])", "haswell", 8), 2);
  EXPECT_EQ(vectors("exp(tanh(x[i, j]) * m[i])", "haswell", 8), 8) << "one waits for the other";
  EXPECT_EQ(vectors("gelu(x[i, j]) * m[i]", "neoverse-n1", 4), 8);
  EXPECT_EQ(vectors("gelu(x[i, j]) * m[i]", "sapphirerapids", 16), 2);
}

TEST(Auto, stores_whole_lines_of_large_results) {
  const auto lanes = [](const char* rows) {
    return around(by_default(fmt::format("input x: f32[{0}, 4096]\noutput y: f32[{0}, 4096]\n"
                                         "y[i, j] = 2 * x[i, j]\n",
                                         rows)),
                  0)
        .lanes();
  };
  EXPECT_EQ(lanes("4096"), 16);
  EXPECT_EQ(lanes("64"), 8);
}

TEST(Auto, takes_the_greatest_of_a_short_row_in_lanes) {
  const auto of_rows = [](const char* what) {
    return by_default(
        fmt::format("input x: f32[512, 40]\noutput y: f32[512]\ny[i] = {}(j, x[i, j])\n", what));
  };
  EXPECT_EQ(around(of_rows("max"), 1).lanes_along(), "j") << loops_of(of_rows("max"));
  EXPECT_EQ(around(of_rows("sum"), 1).lanes_along(), "none") << loops_of(of_rows("sum"));
}

TEST(Auto, lays_a_few_columns_along_the_reduction) {
  const auto product = [](int columns) {
    return by_default(
        fmt::format("input A: f32[512, 300], B: f32[300, {0}]\noutput C: f32[512, {0}]\n"
                    "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                    columns));
  };
  EXPECT_EQ(around(product(3), 1).lanes_along(), "k") << loops_of(product(3));
  EXPECT_TRUE(around(product(3), 1).is_parallel());
  EXPECT_TRUE(is_copied(product(3), "B")) << loops_of(product(3));
  EXPECT_EQ(around(product(8), 1).lanes_along(), "j") << "wide enough for lanes";
}

TEST(Auto, keeps_the_sums_of_short_rows_in_registers) {
  const auto columns = [](int count) {
    return by_default(
        fmt::format("input x: f32[997, {0}]\noutput y: f32[{0}]\ny[j] = sum(i, x[i, j])\n", count));
  };
  const LoopsAround few = around(columns(61), 1), many = around(columns(1024), 1);
  EXPECT_EQ(few.lanes_along(), "j");
  EXPECT_EQ(few.unrolled(), std::set<std::string>{"j"}) << loops_of(columns(61));
  EXPECT_EQ(many.lanes_along(), "j") << loops_of(columns(1024));
  EXPECT_EQ(many.unrolled().count("j"), 0U) << loops_of(columns(1024));
}

TEST(Auto, leaves_a_recurrence_as_it_is) {
  const LoopsAround nest = around(
      by_default("param N\ninout s: f32[N]\nfor i in range(1, N):\n    s[i] += 0.5 * s[i - 1]\n"),
      0);
  ASSERT_EQ(nest.loops.size(), 1U);
  EXPECT_EQ(nest.loops.front().marks, poly::Marks{});
}

TEST(Auto, does_not_start_threads_for_a_few_iterations) {
  const auto copy = [](int elements) {
    return around(
        by_default(fmt::format("input a: f32[{0}]\noutput b: f32[{0}]\nb[i] = a[i]\n", elements)),
        0);
  };
  EXPECT_EQ(copy(64).lanes(), 8);
  EXPECT_FALSE(copy(64).is_parallel());
  EXPECT_TRUE(copy(64000000).is_parallel());
}

TEST(Auto, does_not_ask_the_scheduler_about_deep_nests) {
  // Too few filters and too narrow for register tiles; isl's scheduler would take minutes.
  const Schedule schedule = by_default(R"(input image: f32[12, 11, 11]
input weight: f32[2, 12, 5, 5]
output out: f32[2, 11, 11]
temp padded: f32[12, 15, 15]
for c in range(12):
    for h in range(15):
        for w in range(15):
            if 2 <= h < 13 and 2 <= w < 13:
                padded[c, h, w] = image[c, h - 2, w - 2]
            else:
                padded[c, h, w] = 0
out[k, h, w] = sum(c, r, s, padded[c, h + r, w + s] * weight[k, c, r, s])
)");
  EXPECT_EQ(schedule.applied.size(), 1u);
}

TEST(Auto, schedules_what_the_scheduler_gives_up_on) {
  // isl: "unable to carry dependences".
  const Schedule schedule = by_default(R"(param N
inout A: i32[1, 1]
output C: i32[2, N + 3]
for i in range(0, 2):
    C[i, i + 1] = 0
for i in range(0, 2, 3):
    for j in range(0, N):
        for k in range(0, 2):
            C[i, k + 1] = C[k, j] + 0
)");
  EXPECT_EQ(schedule.applied.size(), 1u);
}

TEST(Auto, does_not_reassociate_under_exact) {
  const Schedule schedule = by_default(std::string("numerics exact\n") + kGemm);
  const auto verdict = poly::judge(schedule.scop, schedule.order);
  ASSERT_TRUE(std::holds_alternative<poly::Legal>(verdict));
  EXPECT_FALSE(std::get<poly::Legal>(verdict).reassociates);
}

TEST(Auto, reads_rows_in_place_that_wide_vectors_take_element_by_element) {
  const auto product = [](int64_t columns, int64_t depth) {
    return for_one_core_of("sapphirerapids",
                           fmt::format("input A: f32[3136, {1}]\nconst B: f32[{1}, {0}]\n"
                                       "output C: f32[3136, {0}]\n"
                                       "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                                       columns, depth));
  };
  for (const auto& [columns, depth] :
       {std::pair<int64_t, int64_t>{256, 64}, {1024, 256}, {1024, 1024}}) {
    EXPECT_FALSE(is_copied(product(columns, depth), "A")) << depth << ": however long the rows";
    EXPECT_TRUE(is_packed(product(columns, depth), "B")) << depth;
  }
  const LoopsAround update = around(product(256, 64), 1);
  EXPECT_LT(update.depth_of_steps("i"), update.depth_of_steps("j"))
      << "rows meet all columns in turn:\n"
      << loops_of(product(256, 64));
}

TEST(Auto, wide_vectors_call_panels_of_kept_weights) {
  const auto product = [](const char* kind, int64_t channels, int64_t filters) {
    return for_one_core_of(
        "sapphirerapids",
        fmt::format("input image: f32[196, {1}]\n{0} weight: f32[{1}, {2}]\n"
                    "output out: f32[196, {2}]\nout[q, k] = sum(c, image[q, c] * weight[c, k])\n",
                    kind, channels, filters));
  };
  EXPECT_TRUE(prefetches(product("const", 256, 256))) << loops_of(product("const", 256, 256));
  EXPECT_FALSE(prefetches(product("const", 64, 128))) << "few weights are there in time";
  EXPECT_FALSE(prefetches(product("input", 256, 256))) << "these were packed just before";
  const Schedule windows = for_one_core_of(
      "sapphirerapids", "input image: f32[16, 16, 256]\nconst weight: f32[3, 3, 256, 256]\n"
                        "output out: f32[14, 14, 256]\nout[h, w, k] = "
                        "sum(r, s, c, image[h + r, w + s, c] * weight[r, s, c, k])\n");
  EXPECT_TRUE(around(windows, 1).prefetches_along("k")) << loops_of(windows);
}

TEST(Auto, windows_over_single_channels_in_lanes_take_several_pixels) {
  const auto depthwise = [](const char* machine, int64_t window) {
    return for_one_core_of(machine,
                           fmt::format("input X: f32[{0}, {0}, 64], w: f32[{1}, {1}, 64]\n"
                                       "output Y: f32[24, 24, 64]\n"
                                       "Y[h, x, c] = sum(r, s, X[h + r, x + s, c] * w[r, s, c])\n",
                                       23 + window, window));
  };
  for (const Schedule& schedule : {depthwise("sapphirerapids", 3), depthwise("neoverse-n1", 5)}) {
    EXPECT_EQ(around(schedule, 1).lanes_along(), "c") << loops_of(schedule);
    EXPECT_EQ(around(schedule, 1).unrolled().count("x"), 1U) << loops_of(schedule);
  }
}

} // namespace
} // namespace kawara::schedule
