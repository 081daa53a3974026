#include "schedule/auto/rules.h"

#include "schedule/attempt.h"
#include "schedule/auto/facts/distribution.h"
#include "schedule/auto/nest/private_temps.h"
#include "schedule/auto/rule/choose.h"
#include "schedule/tree/nest.h"
#include "unit/schedule/auto/facts.h"

#include <fmt/format.h>

#include <set>

namespace kawara::schedule {
namespace {

using Names = std::set<std::string>;

Environment environment_of(const char* processor, bool has_gpu = false) {
  Environment environment = test_environment();
  environment.cpu = *target::named_cpu(processor);
  environment.cpu.cores = 4;
  if (has_gpu)
    environment.gpu = target::named_gpu("sm_90a");
  return environment;
}

/// Names of the rules that have a candidate for some loop of the program, each statement in a nest
/// of its own where that may be.
Names rules_for(const std::string& text, const Environment& environment) {
  Schedule schedule = with_own_temps(initial(text), environment);
  Names names;
  const auto ask = [&](Phase only) {
    for (const poly::LoopId loop : child_loops(schedule.order.body)) {
      const Site site(schedule, loop, Around::Nothing, environment);
      for (const Rule& rule : environment.gpu ? gpu_rules() : cpu_rules())
        if ((rule.phase == Phase::Chains) == (only == Phase::Chains) &&
            (site.nest() || environment.gpu || only == Phase::Chains))
          rule.candidates(site, [&](const Candidate&) {
            names.insert(std::string(rule.name));
            return true;
          });
    }
  };
  ask(Phase::Chains);
  ask(Phase::Nests);
  for (const poly::LoopId loop : child_loops(schedule.order.body))
    distribute_all(schedule, loop);
  ask(Phase::Nests);
  return names;
}

std::string convolution(const char* elem, const char* sum, int channels, int filters, int side) {
  return fmt::format("numerics fast\ninput X: {0}[{2}, {4}, {4}]\nconst W: {0}[{3}, {2}, 3, 3]\n"
                     "output Y: {1}[{3}, {5}, {5}]\n"
                     "Y[k, h, w] = sum(c, r, s, X[c, h + r, w + s] * W[k, c, r, s])\n",
                     elem, sum, channels, filters, side + 2, side);
}

std::string product(int rows, int columns, int depth, const char* elem = "f32") {
  return fmt::format("input A: {3}[{0}, {2}], B: {3}[{2}, {1}]\noutput C: f32[{0}, {1}]\n"
                     "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                     rows, columns, depth, elem);
}

/// A program for each rule, and the processor that it is for.
struct Example {
  const char* rule;
  std::string text;
  const char* processor = "neoverse-n1";
};

const std::vector<Example>& cpu_examples() {
  static const std::vector<Example> examples{
      {"window in chunks", R"(input X: f32[3, 115, 115], W: f32[64, 3, 3, 3]
output Y: f32[64, 56, 56]
temp conv: f32[64, 113, 113], act: f32[64, 113, 113]
conv[k, y, x] = sum(c, r, s, X[c, y + r, x + s] * W[k, c, r, s])
act[k, y, x] = max(conv[k, y, x], 0.0)
Y[k, y, x] = max(r in range(3), s in range(3), act[k, 2*y + r, 2*x + s])
)"},
      {"products in chunks", R"(input A: f32[12544, 64]
const B: f32[64, 256], D: f32[256, 64]
output C: f32[12544, 64]
temp S: f32[12544, 256], T: f32[12544, 256]
S[i, j] = sum(k, A[i, k] * B[k, j])
T[i, j] = relu(S[i, j])
C[i, j] = sum(k, T[i, k] * D[k, j])
)"},
      {"tall reduction of rows", "input A: f32[16, 50000], B: f32[16, 50000]\n"
                                 "output C: f32[16, 16]\nC[i, j] = sum(k, A[i, k] * B[j, k])\n"},
      {"product in AMX tiles", convolution("bf16", "f32", 32, 64, 16), "sapphirerapids"},
      {"product of groups", convolution("i8", "i32", 32, 48, 16)},
      {"product in f16 blocks", convolution("f16", "f32", 32, 48, 16)},
      {"product in wide elements", convolution("bf16", "f32", 32, 48, 16)},
      {"product with a split reduction", product(16, 16, 100000)},
      {"product", product(256, 256, 256)},
      {"product without tile registers", product(256, 256, 256)},
      {"tall reduction", "input A: f32[100000, 8], x: f32[100000]\noutput y: f32[8]\n"
                         "y[j] = sum(k, A[k, j] * x[k])\n"},
      {"window with epilogue", R"(input X: f32[16, 30, 34], W: f32[16, 3, 3]
temp S: f32[16, 28, 32]
output Y: f32[16, 28, 32]
S[c, h, w] = sum(r, s, X[c, h + r, w + s] * W[c, r, s])
Y[c, h, w] = max(S[c, h, w], 0.0)
)"},
      {"reduction in parts", "input x: f32[1000000]\ninout s: f32[1]\nfor i in range(1):\n"
                             "    for k in range(1000000):\n        s[i] += x[k]\n"},
      {"dot products", product(512, 3, 512)},
      {"rows of a kept matrix", "const A: f32[256, 96]\ninput x: f32[96]\noutput y: f32[256]\n"
                                "y[j] = sum(k, A[j, k] * x[k])\n"},
      {"lanes that gather", "input A: f32[1000], at: i32[5000]\noutput C: f32[5000]\n"
                            "for i in range(5000):\n    C[i] = A[at[i]]\n"},
      {"column sums", "input X: f32[300, 400]\ntemp M: f32[400]\noutput E: f32[300, 400]\n"
                      "M[c] = max(b, X[b, c])\nE[b, c] = exp(X[b, c] - M[c])\n"},
      {"window in registers", "input X: f32[16, 30, 34], W: f32[16, 3, 3]\n"
                              "output Y: f32[16, 28, 32]\n"
                              "Y[c, h, w] = sum(r, s, X[c, h + r, w + s] * W[c, r, s])\n"},
      {"register tiles", product(256, 256, 256)},
      {"transpose in squares", "input X: f32[256, 320]\noutput Y: f32[320, 256]\n"
                               "Y[i, j] = X[j, i]\n"},
      {"scan in lanes", kPrefixSum},
      {"rows of a recurrence side by side", R"(input x: f64[512, 700]
inout y: f64[512, 700]
for i in range(512):
    for j in range(1, 700):
        y[i, j] = x[i, j] + 0.5 * y[i, j - 1]
)"},
      {"sums of columns in registers", "input A: f32[12, 16]\noutput y: f32[16]\n"
                                       "y[j] = sum(i, A[i, j])\n"},
      {"unroll-and-jam", "input A: f32[300, 400], x: f32[300]\ninout y: f32[400]\n"
                         "for i in range(300):\n    for j in range(400):\n"
                         "        y[j] += A[i, j] * x[i]\n"},
      {"lanes and threads", kAdd},
      {"threads", kAdd},
  };
  return examples;
}

/// Heads of queries share keys, in several batches: one loop more than a grid has axes.
constexpr const char* kBatchesOfGroups = R"(input Q: bf16[3, 256, 2, 4, 64], K: bf16[3, 256, 2, 64]
input V: bf16[3, 256, 2, 64]
output out: bf16[3, 256, 2, 4, 64]
temp scores: f32[3, 2, 4, 256, 256], weights: f32[3, 2, 4, 256, 256]
temp narrow: bf16[3, 2, 4, 256, 256], total: f32[3, 2, 4, 256], acc: f32[3, 2, 4, 256, 64]
scores[b, n, g, i, j] = sum(d, f32(Q[b, i, n, g, d]) * f32(K[b, j, n, d]))
weights[b, n, g, i, j] = exp((scores[b, n, g, i, j] - max(k, scores[b, n, g, i, k])) * 0.125)
narrow[b, n, g, i, j] = weights[b, n, g, i, j]
total[b, n, g, i] = sum(j, weights[b, n, g, i, j])
acc[b, n, g, i, d] = sum(j, f32(narrow[b, n, g, i, j]) * f32(V[b, j, n, d]))
out[b, i, n, g, d] = acc[b, n, g, i, d] / total[b, n, g, i]
)";

const std::vector<Example>& gpu_examples() {
  static const std::vector<Example> examples{
      {"attention in one pass", R"(input Q: bf16[8, 1024, 64], K: bf16[8, 1024, 64]
input V: bf16[8, 1024, 64]
output out: bf16[8, 1024, 64]
temp scores: f32[8, 1024, 1024], weights: f32[8, 1024, 1024], narrow: bf16[8, 1024, 1024]
temp total: f32[8, 1024], acc: f32[8, 1024, 64]
scores[h, i, j] = sum(d, f32(Q[h, i, d]) * f32(K[h, j, d]))
weights[h, i, j] = exp((scores[h, i, j] - max(k, scores[h, i, k])) * 0.125)
narrow[h, i, j] = weights[h, i, j]
total[h, i] = sum(j, weights[h, i, j])
acc[h, i, d] = sum(j, f32(narrow[h, i, j]) * f32(V[h, j, d]))
out[h, i, d] = acc[h, i, d] / total[h, i]
)"},
      {"attention in one pass", kBatchesOfGroups},
      {"product of a few rows", product(1, 4096, 4096)},
      {"product with a split reduction", product(128, 128, 65536, "bf16")},
      {"product", product(1024, 1024, 1024)},
      {"rows", "input X: f32[4096, 1024]\noutput y: f32[4096]\ny[i] = sum(k, X[i, k])\n"},
      {"sum in parts by blocks", "input x: f32[1000000]\ninout y: f32[1]\n"
                                 "for k in range(1000000):\n    y[0] += x[k]\n"},
      {"sum by the threads of a block", "input x: f32[1000]\ninout y: f32[1]\n"
                                        "for k in range(1000):\n    y[0] += x[k]\n"},
      {"transpose through shared memory", "input X: f32[512, 512]\noutput Y: f32[512, 512]\n"
                                          "Y[i, j] = X[j, i]\n"},
      {"map", kAdd},
      {"iterations as threads", R"(inout y: f32[512, 3]
for i in range(512):
    for j in range(3):
        y[i, j] += 1
    for j in range(3):
        y[i, j] += y[i, 2 - j]
)"},
  };
  return examples;
}

void expect_all_known(std::span<const Rule> rules, const std::vector<Example>& examples,
                      bool has_gpu) {
  Names names;
  for (const Rule& rule : rules) {
    EXPECT_TRUE(names.insert(std::string(rule.name)).second) << rule.name << " is there twice";
    EXPECT_FALSE(rule.recognises.empty()) << rule.name;
  }
  for (const Example& example : examples) {
    const Names found = rules_for(example.text, environment_of(example.processor, has_gpu));
    EXPECT_TRUE(found.contains(example.rule)) << example.rule << "\n" << example.text;
    names.erase(example.rule);
  }
  EXPECT_TRUE(names.empty()) << "without an example: " << *names.begin();
}

TEST(Rules, of_a_processor_have_names_and_programs_that_they_are_for) {
  expect_all_known(cpu_rules(), cpu_examples(), false);
}

TEST(Rules, of_a_gpu_have_names_and_programs_that_they_are_for) {
  expect_all_known(gpu_rules(), gpu_examples(), true);
}

TEST(Rules, for_products_have_nothing_for_a_sum_of_matrices) {
  const Environment environment = environment_of("neoverse-n1");
  EXPECT_FALSE(rules_for(kAdd, environment).contains("product"));
  EXPECT_TRUE(rules_for(kGemm, environment).contains("product"));
}

/// Candidates of the site of a program's one nest, by what `choose` writes down.
struct Noted {
  std::vector<Attempt> attempts;
  std::optional<Choice> choice;
};

Noted chosen(const std::string& text, bool lists_all) {
  Noted noted;
  Environment environment = environment_of("neoverse-n1");
  environment.notes = lists_all ? &noted.attempts : nullptr;
  const Schedule schedule = initial(text);
  const Site site(schedule, child_loops(schedule.order.body).front(), Around::Nothing, environment);
  noted.choice = choose(site, cpu_rules(), Phase::Nests, nullptr);
  return noted;
}

TEST(Choose, writes_down_all_candidates_and_takes_the_first_that_is_legal) {
  const std::string text = R"(input x: f64[512, 700]
inout y: f64[512, 700]
for i in range(512):
    for j in range(1, 700):
        y[i, j] = x[i, j] + 0.5 * y[i, j - 1]
)";
  const Noted all = chosen(text, true), quick = chosen(text, false);
  std::vector<std::string> names;
  for (const Attempt& attempt : all.attempts)
    names.push_back(attempt.rule);
  EXPECT_EQ(names, (std::vector<std::string>{"rows of a recurrence side by side",
                                             "lanes and threads", "lanes"}));
  ASSERT_TRUE(all.choice && quick.choice);
  EXPECT_EQ(print(all.choice->schedule.applied), print(quick.choice->schedule.applied))
      << "notes change nothing";
  EXPECT_EQ(print(quick.choice->schedule.applied), "[" + print(all.attempts.front().plan) + "]");
}

TEST(Choose, goes_on_where_a_plan_or_its_end_is_refused) {
  const Schedule schedule = initial(kPrefixSum);
  const Environment environment = test_environment();
  const Site site(schedule, child_loops(schedule.order.body).front(), Around::Nothing, environment);
  static int offers;
  offers = 0;
  static const auto candidates = +[](const Site& at, const Offer& offer) {
    const std::vector<poly::StmtId> covers = at.nest()->statements;
    const LoopName loop{"S0", "i"};
    ++offers;
    if (offer({"parallel: illegal", covers, {Parallel{loop}}}))
      return;
    ++offers;
    Candidate ends{"legal, but its end says no", covers, {Split{loop, 4}}};
    ends.finish = [](Schedule&, const Planner&) { return false; };
    if (offer(ends))
      return;
    ++offers;
    offer({"split", covers, {Split{loop, 8}}});
  };
  const Rule rules[] = {{Phase::Nests, "three", "", candidates},
                        {Phase::Windows, "not asked", "", candidates}};
  const auto choice = choose(site, rules, Phase::Nests, nullptr);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(offers, 3);
  EXPECT_EQ(print(choice->schedule.applied), "[split(S0.i, 8)]");
}

} // namespace
} // namespace kawara::schedule
