#include "example.h"

#include <gtest/gtest.h>

// A reduction that threads share, and results that do not depend on how many there are.

namespace kawara::run_test {
namespace {

/// A small result, two of the longest vectors wide, and a long reduction.
constexpr const char* kLong = "input A: f32[8, 20000], B: f32[20000, 32]\n"
                              "output C: f32[8, 32]\n"
                              "C[i, j] = sum(k, A[i, k] * B[k, j])\n";

schedule::Environment with_cores(int64_t cores) {
  schedule::Environment environment = driver::host_environment();
  environment.cpu.cores = cores;
  return environment;
}

driver::Compiled compiled_for(const driver::Request& request, int64_t threads) {
  Trace silent;
  auto compiled =
      driver::compile(request, with_cores(4), silent, {std::make_shared<run::ThreadPool>(threads)});
  EXPECT_TRUE(compiled) << render(compiled.error());
  return *std::move(compiled);
}

bool is_shared(const schedule::Schedule& schedule) {
  for (const program::Tensor& tensor : schedule.scop.tensors)
    if (tensor.is_hidden && !tensor.is_packed && tensor.role == program::Role::Temp &&
        tensor.shape.size() == 3)
      return true;
  return false;
}

TEST(SplitK, AutoSharesALongReductionOfASmallResult) {
  const Example example = example_of("long", kLong);
  const driver::Compiled compiled = compiled_for(request_of(example, "auto"), 4);
  EXPECT_TRUE(is_shared(compiled.front.schedule)) << schedule::listing(compiled.front.schedule);
  const program::Arrays inputs = inputs_of(example, {});
  expect_near(example, {}, "shared", run_compiled(compiled, {}, inputs),
              expected_of(example, {}, inputs));
}

TEST(SplitK, AutoSharesItOnEveryProcessor) {
  const Example example = example_of("long", kLong);
  for (const std::string& name : target::named_cpus()) {
    schedule::Environment environment;
    environment.cpu = *target::named_cpu(name);
    environment.cpu.cores = 8;
    Trace silent;
    const auto front = driver::schedule(request_of(example, "auto"), environment, silent);
    ASSERT_TRUE(front) << render(front.error());
    EXPECT_TRUE(is_shared(front->schedule)) << name << "\n" << schedule::listing(front->schedule);
  }
}

TEST(SplitK, AutoDoesNotShareWithoutThreadsOrUnderExact) {
  Example example = example_of("long", kLong);
  EXPECT_FALSE(is_shared(compile(request_of(example, "auto"), with_cores(1)).front.schedule));
  driver::Request exact = request_of(example, "auto");
  exact.numerics = program::Numerics::Exact;
  EXPECT_FALSE(is_shared(compile(exact, with_cores(4)).front.schedule));
}

/// Few results, terms that no vector, part or tile divides: lanes along the terms, along the
/// results, tiles of both.
TEST(SplitK, AFewSumsOfManyTerms) {
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"nt", "input A: f32[3, 40003], B: f32[5, 40003]\noutput C: f32[3, 5]\n"
                  "C[i, j] = sum(k, A[i, k] * B[j, k])\n"},
           {"nn", "input A: f32[3, 40003], B: f32[40003, 5]\noutput C: f32[3, 5]\n"
                  "C[i, j] = sum(k, A[i, k] * B[k, j])\n"},
           {"tn", "input A: f64[40003, 2], B: f64[40003, 9]\noutput C: f64[2, 9]\n"
                  "C[i, j] = sum(k, A[k, i] * B[k, j])\n"},
           {"tiles", "input A: f32[2, 30001], B: f32[53, 30001]\noutput C: f32[2, 53]\n"
                     "C[i, j] = sum(k, A[i, k] * B[j, k])\n"},
           {"halves", "input A: f16[3, 20003], B: f16[5, 20003]\noutput C: f32[3, 5]\n"
                      "C[i, j] = sum(k, A[i, k] * B[j, k])\n"},
           {"greatest", "input A: f32[40003, 3]\noutput C: f32[3]\nC[i] = max(k, A[k, i])\n"},
           {"channels", "input X: f32[5, 3, 41, 300]\noutput S: f32[3]\n"
                        "S[c] = sum(n, h, w, X[n, c, h, w] * X[n, c, h, w])\n"}}) {
    SCOPED_TRACE(name);
    const Example example = example_of(name, text);
    const program::Arrays inputs = inputs_of(example, {});
    const program::Arrays expected = expected_of(example, {}, inputs);
    const driver::Request request = request_of(example, "auto");
    const program::Arrays one = run_compiled(compiled_for(request, 1), {}, inputs);
    expect_near(example, {}, name, one, expected);
    EXPECT_TRUE(run_compiled(compiled_for(request, 3), {}, inputs) == one)
        << "parts are the machine's, not the threads'";
  }
}

TEST(Threads, GiveTheSameBitsUnderExactHoweverMany) {
  Example example = example_of("long", kLong);
  example.program.numerics = program::Numerics::Exact;
  const program::Arrays inputs = inputs_of(example, {});
  const program::Arrays expected = expected_of(example, {}, inputs);
  driver::Request request = request_of(example, "auto");
  request.numerics = program::Numerics::Exact;
  for (const int64_t threads : {1, 2, 3, 5})
    EXPECT_TRUE(run_compiled(compiled_for(request, threads), {}, inputs) == expected)
        << threads << " threads";
}

TEST(SplitK, AsDirectives) {
  const Example example = example_of("long", kLong);
  const std::string directives =
      "split(S1.k, 5000); rfactor(k.0); distribute(S1.i); "
      "reorder(S1.k.0, S1.i, S1.k.1, S1.j); parallel(S1.k.0); vectorize(S1.j, 4)";
  const driver::Compiled compiled = compiled_for(request_of(example, directives), 3);
  const program::Arrays inputs = inputs_of(example, {});
  expect_near(example, {}, "by hand", run_compiled(compiled, {}, inputs),
              expected_of(example, {}, inputs));
}

} // namespace
} // namespace kawara::run_test
