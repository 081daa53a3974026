#include "unit/schedule/programs.h"

#include "poly/legality/legality.h"
#include "schedule/auto/facts/function_latency.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

/// Loops and statements of a listing, without the directives above them.
std::string loops_of(const Schedule& schedule) {
  return poly::print(schedule.order, poly::names_of_statements(schedule.scop));
}

Schedule scheduled_automatically(const std::string& text) {
  const Schedule start = initial(text);
  auto result = apply(start, Auto{}, test_environment());
  EXPECT_TRUE(static_cast<bool>(result));
  return result ? *std::move(result) : start;
}

TEST(Auto, tiles_a_matrix_product_for_registers) {
  EXPECT_EQ(loops_of(scheduled_automatically(kGemm)), R"(for i:  # parallel
  for j:  # vector(8)
    S0
for j.0:
  for k.0:
    for k.1.0:  # parallel
      for j.1.0:
        for k.1.1:
          for j.1.1:  # vector(4) unroll
            S2
    for i.0:  # parallel
      for i.1.0:
        for k.1:
          for i.1.1:  # unroll
            S3
      for j.1.0:
        for i.1.0:  # prefetch
          for k.1:  # unroll(4)
            for i.1.1:  # unroll
              for j.1.1:  # vector(4) unroll
                S1
)");
}

TEST(Auto, packs_the_operands_of_a_scaled_product) {
  const Schedule scaled =
      scheduled_automatically(R"(input alpha: f32, A: f32[300, 200], B: f32[400, 200]
inout C: f32[300, 400]
for i in range(300):
    for j in range(400):
        for k in range(200):
            C[i, j] += alpha * A[i, k] * B[j, k]
)");
  EXPECT_EQ(scaled.scop.statements.size(), 3U) << loops_of(scaled);
}

TEST(Auto, reads_rows_unpacked_for_few_columns) {
  const auto loops = [](int64_t depth, int64_t columns) {
    return loops_of(scheduled_automatically(
        fmt::format("input A: f32[128, {0}]\nconst B: f32[{0}, {1}]\noutput C: f32[128, {1}]\n"
                    "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                    depth, columns)));
  };
  EXPECT_EQ(loops(256, 64).find("S3"), std::string::npos) << loops(256, 64);
  EXPECT_NE(loops(256, 64).find("for k:  # unroll(8)"), std::string::npos) << "two vectors";
  EXPECT_NE(loops(256, 128).find("S3"), std::string::npos) << "a copy of A";
  EXPECT_NE(loops(4096, 64).find("S3"), std::string::npos) << "its rows would share lines";
}

TEST(Auto, packs_weights_for_a_single_row) {
  const auto program = [](const std::string& role) {
    return "input x: f32[1, 512]\n" + role +
           " W: f32[512, 640]\noutput y: f32[1, 640]\ny[i, j] = sum(k, x[i, k] * W[k, j])\n";
  };
  const auto count = [&](const std::string& role) {
    return scheduled_automatically(program(role)).scop.statements.size();
  };
  EXPECT_EQ(count("const"), 3U) << "the weights are copied once, the row is read unpacked";
  EXPECT_EQ(count("input"), 2U) << "a copy would cost as much as the product";
}

TEST(Auto, turns_weights_over_line_by_line) {
  const std::string rows = loops_of(scheduled_automatically(
      "input x: f32[1, 256]\nconst W: f32[1024, 256]\noutput y: f32[1, 1024]\n"
      "y[i, j] = sum(k, x[i, k] * W[j, k])\n"));
  EXPECT_EQ(rows.substr(0, rows.find("S2")), R"(for j.0:  # parallel
  for j.1.1.0:
    for k:  # unroll(4)
      for j.1.1.1:  # vector(4) unroll
        )")
      << "one square of elements is as wide as a line; more of them have the compiler at work";
}

TEST(Auto, copies_keep_the_lanes_of_their_product) {
  const std::string rows = loops_of(scheduled_automatically(
      "input x: f32[64, 256]\nconst W: f32[640, 256]\noutput y: f32[64, 640]\n"
      "y[i, j] = sum(k, x[i, k] * W[j, k])\n"));
  const std::string copy = rows.substr(0, rows.find("S2"));
  EXPECT_NE(copy.find("# vector(4) unroll"), std::string::npos) << rows;
  EXPECT_NE(copy.find("# parallel"), std::string::npos) << "threads still share it: " << rows;
}

TEST(Auto, shares_weights_among_threads_where_few_rows_use_them) {
  const auto is_spread = [](int rows, int width) {
    const std::string loops = loops_of(scheduled_automatically(
        fmt::format("const W: f32[{1}, {1}]\ninput x: f32[{0}, {1}]\noutput y: f32[{0}, {1}]\n"
                    "y[i, j] = sum(k, x[i, k] * W[k, j])\n",
                    rows, width)));
    return loops.substr(loops.find("S2")).find("parallel") != std::string::npos;
  };
  EXPECT_TRUE(is_spread(1, 768)) << "two megabytes of weights";
  EXPECT_TRUE(is_spread(8, 256)) << "half a million multiply-adds";
  EXPECT_FALSE(is_spread(1, 128)) << "64 KiB are read sooner than a thread is there";
  EXPECT_FALSE(is_spread(7, 128)) << "a hundred thousand multiply-adds take a few microseconds";
}

TEST(Auto, turns_squares_over_where_reads_and_writes_run_along_different_loops) {
  const std::string loops = loops_of(scheduled_automatically(R"(param M, N
input X: f32[M, N]
output Y: f32[N, M]
Y[j, i] = X[i, j]
)"));
  EXPECT_EQ(loops, R"(for j.0:  # parallel
  for i.0:
    for j.1.0:
      for j.1.1:  # unroll
        for i.1:  # vector(16)
          S0
)");
}

TEST(Auto, fuses_where_the_fusion_needs_an_interchange) {
  const Schedule schedule = scheduled_automatically(R"(param N
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
  EXPECT_EQ(loops_of(scheduled_automatically(kJacobi)), R"(for t:
  for i.0:  # parallel
    for i.1:  # vector(8)
      S0
)");
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
  EXPECT_EQ(loops_of(scheduled_automatically(kDepthwise)), R"(for c:  # parallel
  for h:
    for w:  # vector(8)
      S0
  for h:
    for w:  # vector(8)
      S1
  for h:
    for w.0:
      for w.1:  # vector(4) unroll
        S2
      for r:  # unroll
        for s:  # unroll
          for w.1:  # vector(4) unroll
            S3
)");
}

TEST(Auto, what_is_made_of_a_window_follows_it_in_registers) {
  const Schedule schedule = scheduled_automatically(
      "input X: f32[32, 58, 58]\nconst W: f32[32, 3, 3], B: f32[32]\noutput Y: f32[32, 56, 56]\n"
      "temp T: f32[32, 56, 56]\n\nT[c, h, w] = sum(r, s, X[c, h + r, w + s] * W[c, r, s])\n"
      "Y[c, h, w] = max(T[c, h, w] + B[c], 0.0)\n");
  EXPECT_EQ(loops_of(schedule), R"(for c:  # parallel
  for h:
    for w.0:
      for w.1:  # vector(4) unroll
        S0
      for r:  # unroll
        for s:  # unroll
          for w.1:  # vector(4) unroll
            S1
      for w.1:  # vector(4) unroll
        S2
)");
}

TEST(Auto, copies_rows_of_images_that_lie_in_many_pages) {
  const auto count = [](const std::string& size) {
    return scheduled_automatically(
               "input image: f32[64, " + size + ", " + size +
               "]\nconst weight: f32[64, 64, 3, 3]\noutput out: f32[64, 14, 14]\n"
               "out[k, h, w] = sum(c, r, s, image[c, h + r, w + s] * "
               "weight[k, c, r, s])\n")
        .scop.statements.size();
  };
  EXPECT_EQ(count("16"), 3U) << "packed weights";
  EXPECT_EQ(count("64"), 4U) << "packed weights and staged rows";
}

TEST(Auto, copies_rows_once_where_blocks_of_weights_stand_around_them) {
  const auto loops = [](int64_t filters, int64_t rows) {
    return loops_of(scheduled_automatically(
        fmt::format("input image: f32[512, {1}, {1}]\nconst weight: f32[{0}, 512]\n"
                    "output out: f32[{0}, {2}, {2}]\n"
                    "out[k, h, w] = sum(c, image[c, 2 * h, 2 * w] * weight[k, c])\n",
                    filters, 2 * rows, rows)));
  };
  const std::string copy = "for w.1.0:\n      for c:\n        for w.1.1:  # unroll\n          S3";
  EXPECT_NE(loops(64, 28).find("for h_k.0:  # parallel\n  for w.0:\n    " + copy),
            std::string::npos)
      << "for each row:\n"
      << loops(64, 28);
  EXPECT_NE(
      loops(1024, 7).find("for h:  # parallel\n  for c:\n    for w.1.1:  # vector(8) unroll\n      "
                          "S3\nfor k.0_h:  # parallel\n"),
      std::string::npos)
      << "once for all panels";
}

TEST(Auto, calls_panels_of_weights_that_pass_by_once) {
  const auto is_called = [](const std::string& text) {
    return loops_of(scheduled_automatically(text)).find("# prefetch") != std::string::npos;
  };
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
    const Schedule schedule = scheduled_automatically(
        "input X: f32[" + rows + ", 2048], g: f32[2048]\noutput Y: f32[" + rows +
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
    const Schedule schedule =
        scheduled_automatically(fmt::format(R"(input image: f32[{0}, {1}, {1}]
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
    std::vector<int64_t> shape;
    for (const program::Tensor& tensor : schedule.scop.tensors)
      if (tensor.name == "padded")
        for (const scalar::Expr& extent : tensor.shape)
          shape.push_back(scalar::constant_of(extent).value_or(0));
    return shape;
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
  const auto scaled = [](const char* rows) {
    return fmt::format("input x: f32[{0}, 4096]\noutput y: f32[{0}, 4096]\ny[i, j] = 2 * x[i, j]\n",
                       rows);
  };
  EXPECT_NE(loops_of(scheduled_automatically(scaled("4096"))).find("vector(16)"),
            std::string::npos);
  EXPECT_NE(loops_of(scheduled_automatically(scaled("64"))).find("vector(8)"), std::string::npos);
}

TEST(Auto, takes_the_greatest_of_a_short_row_in_lanes) {
  const auto of_rows = [](const char* what) {
    return loops_of(scheduled_automatically(
        fmt::format("input x: f32[512, 40]\noutput y: f32[512]\ny[i] = {}(j, x[i, j])\n", what)));
  };
  EXPECT_NE(of_rows("max").find("for j:  # vector(8)"), std::string::npos) << of_rows("max");
  EXPECT_EQ(of_rows("sum").find("for j:  # vector"), std::string::npos) << of_rows("sum");
}

TEST(Auto, lays_a_few_columns_along_the_reduction) {
  const auto product = [](int columns) {
    return loops_of(scheduled_automatically(
        fmt::format("input A: f32[512, 300], B: f32[300, {0}]\noutput C: f32[512, {0}]\n"
                    "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                    columns)));
  };
  EXPECT_NE(product(3).find(R"(for i:  # parallel
  for j:
    for k:  # vector(4)
      S1
)"),
            std::string::npos)
      << product(3);
  EXPECT_NE(product(3).find("S2"), std::string::npos) << "the columns are copied";
  EXPECT_EQ(product(8).find("for k:  # vector(4)"), std::string::npos) << "wide enough for lanes";
}

TEST(Auto, keeps_the_sums_of_short_rows_in_registers) {
  const auto loops = [](int columns) {
    return loops_of(scheduled_automatically(fmt::format(
        "input x: f32[997, {0}]\noutput y: f32[{0}]\ny[j] = sum(i, x[i, j])\n", columns)));
  };
  EXPECT_NE(loops(61).find("for i:\n  for j:  # vector(4) unroll\n    S1\n"), std::string::npos)
      << loops(61);
  EXPECT_EQ(loops(1024).find("for j:  # vector(4) unroll"), std::string::npos) << loops(1024);
}

TEST(Auto, leaves_a_recurrence_as_it_is) {
  EXPECT_EQ(loops_of(scheduled_automatically(kPrefixSum)), "for i:\n  S0\n");
}

TEST(Auto, does_not_start_threads_for_a_few_iterations) {
  const Schedule schedule = scheduled_automatically(R"(input a: f32[64]
output b: f32[64]
for i in range(64):
    b[i] = a[i]
)");
  EXPECT_EQ(loops_of(schedule), "for i:  # vector(8)\n  S0\n");
}

TEST(Auto, does_not_ask_the_scheduler_about_deep_nests) {
  // Too few filters and too narrow for register tiles; isl's scheduler would take minutes.
  const Schedule schedule = scheduled_automatically(R"(input image: f32[12, 11, 11]
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
  const Schedule schedule = scheduled_automatically(R"(param N
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
  const Schedule schedule = scheduled_automatically(std::string("numerics exact\n") + kGemm);
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
  const auto copies = [&](int64_t columns, int64_t depth) {
    return product(columns, depth).scop.statements.size() - 2;
  };
  EXPECT_EQ(copies(256, 64), 1U) << "weights alone";
  EXPECT_EQ(copies(1024, 256), 1U);
  EXPECT_EQ(copies(1024, 1024), 1U) << "however long the rows";
  const std::string loops = loops_of(product(256, 64));
  EXPECT_LT(loops.find("for i.1.0:"), loops.rfind("for j.1.0:"))
      << "rows meet all columns in turn:\n"
      << loops;
}

TEST(Auto, wide_vectors_call_panels_of_kept_weights) {
  const auto loops = [](const char* kind, int64_t channels, int64_t filters) {
    return loops_of(for_one_core_of(
        "sapphirerapids",
        fmt::format("input image: f32[196, {1}]\n{0} weight: f32[{1}, {2}]\n"
                    "output out: f32[196, {2}]\nout[q, k] = sum(c, image[q, c] * weight[c, k])\n",
                    kind, channels, filters)));
  };
  const auto calls = [&](const char* kind, int64_t channels, int64_t filters) {
    return loops(kind, channels, filters).find("# prefetch") != std::string::npos;
  };
  EXPECT_TRUE(calls("const", 256, 256)) << loops("const", 256, 256);
  EXPECT_FALSE(calls("const", 64, 128)) << "few weights are there in time";
  EXPECT_FALSE(calls("input", 256, 256)) << "these were packed just before";
  const std::string around = loops_of(for_one_core_of(
      "sapphirerapids", "input image: f32[16, 16, 256]\nconst weight: f32[3, 3, 256, 256]\n"
                        "output out: f32[14, 14, 256]\nout[h, w, k] = "
                        "sum(r, s, c, image[h + r, w + s, c] * weight[r, s, c, k])\n"));
  EXPECT_NE(around.find("for k.0:  # prefetch"), std::string::npos) << around;
}

TEST(Auto, windows_over_single_channels_in_lanes_take_several_pixels) {
  const auto depthwise = [](const char* machine, int64_t window) {
    return loops_of(for_one_core_of(
        machine, fmt::format("input X: f32[{0}, {0}, 64], w: f32[{1}, {1}, 64]\n"
                             "output Y: f32[24, 24, 64]\n"
                             "Y[h, x, c] = sum(r, s, X[h + r, x + s, c] * w[r, s, c])\n",
                             23 + window, window)));
  };
  EXPECT_NE(depthwise("sapphirerapids", 3).find("for x.1:  # unroll\n"), std::string::npos)
      << depthwise("sapphirerapids", 3);
  EXPECT_NE(depthwise("neoverse-n1", 5).find("for x.1:  # unroll\n"), std::string::npos)
      << depthwise("neoverse-n1", 5);
}

} // namespace
} // namespace kawara::schedule
