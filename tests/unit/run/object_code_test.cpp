#include "unit/run/hand_kernel.h"

#include "run/cpu/jit.h"
#include "run/cpu/object_code.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace kawara::run {
namespace {

/// y[i] = exp(x[i]) * 1.2345678: a call and a constant.
kernel::Kernel calling_kernel() {
  HandKernel hand;
  const uint32_t x = hand.buffer("x", Elem::F64, {int_lit(64)});
  const uint32_t y = hand.buffer("y", Elem::F64, {int_lit(64)});
  const uint32_t i = hand.variable("i");
  const Expr value = scalar::unary(scalar::UnaryOp::Exp, hand.load(x, {hand.var(i)}));
  hand.kernel.body = {loop(i, int_lit(0), int_lit(64),
                           {store(y, {hand.var(i)},
                                  scalar::binary(scalar::BinaryOp::Mul, value,
                                                 scalar::float_lit(1.2345678, {Elem::F64, 1})))})};
  return hand.kernel;
}

struct Kept {
  std::string object, symbol;
};
Kept kept() {
  const Executable code = loaded(calling_kernel());
  return {code.object(), emit::entry_symbol(code.signature())};
}

TEST(ObjectCode, links_what_the_compiler_makes) {
  const Kept it = kept();
  EXPECT_TRUE(code_from_object(it.object, it.symbol).has_value());
  EXPECT_FALSE(code_from_object(it.object, "other").has_value());
  EXPECT_FALSE(code_from_object(it.object, "exp").has_value()) << "not defined here";
}

TEST(ObjectCode, computes_what_it_did_before) {
  const Executable before = loaded(calling_kernel());
  auto again = load_kept({{before.signature(), before.object()}}, emit::host_code_target());
  ASSERT_TRUE(again);
  std::vector<double> x(64), y(64), z(64);
  for (size_t k = 0; k < x.size(); ++k)
    x[k] = static_cast<double>(k) / 8 - 4;
  call(before, {x.data(), y.data()});
  call(again->front(), {x.data(), z.data()});
  EXPECT_EQ(y, z);
  EXPECT_NEAR(y[32], 1.2345678, 1e-12);
}

TEST(ObjectCode, refuses_what_is_cut_off) {
  const Kept it = kept();
  for (size_t size = 0; size < it.object.size(); ++size)
    EXPECT_FALSE(code_from_object(std::string_view(it.object).substr(0, size), it.symbol)) << size;
}

TEST(ObjectCode, survives_any_byte) {
  const Kept it = kept();
  for (size_t k = 0; k < it.object.size(); ++k)
    for (const unsigned char mask : {0x01, 0x80, 0xff}) {
      std::string damaged = it.object;
      damaged[k] = static_cast<char>(static_cast<unsigned char>(damaged[k]) ^ mask);
      (void)code_from_object(damaged, it.symbol).has_value(); // linked or not, never called
    }
}

TEST(ObjectCode, knows_the_functions_that_code_calls) {
  std::vector<std::string> names;
  for (const auto& [name, function] : library_functions()) {
    EXPECT_NE(function, nullptr) << name;
    names.push_back(name);
  }
  for (const std::string name : {"expf", "pow", "memset"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
}

#ifdef __x86_64__
/// Forty loops of a few instructions that end in turns.
kernel::Kernel kernel_of_short_loops() {
  HandKernel hand;
  const Expr n = hand.param("n");
  const uint32_t x = hand.buffer("x", Elem::I32, {n});
  for (int k = 0; k < 40; ++k) {
    const uint32_t i = hand.variable("i" + std::to_string(k));
    const Expr at = hand.load(x, {hand.var(i)});
    hand.kernel.body.push_back(
        loop(i, int_lit(0), n, {store(x, {at}, int_lit(k, {Elem::I32, 1}))}));
  }
  return hand.kernel;
}

struct Jumps {
  int all = 0;
  int at_boundaries = 0; ///< that cross the end of 32 bytes, or end there
};
/// By objdump, which comes with the compiler.
Jumps jumps_of(const std::string& object) {
  const auto path =
      std::filesystem::temp_directory_path() / ("jumps" + std::to_string(getpid()) + ".o");
  std::ofstream(path, std::ios::binary) << object;
  const std::string command = "objdump -d --no-show-raw-insn " + path.string();
  FILE* const listing = popen(command.c_str(), "r");
  Jumps jumps;
  size_t jump = 0;
  bool is_jump = false;
  for (char line[512]; std::fgets(line, sizeof line, listing) != nullptr;) {
    size_t at = 0;
    char name[32];
    if (std::sscanf(line, " %zx: %31s", &at, name) != 2)
      continue;
    if (is_jump)
      jumps.at_boundaries += jump / 32 != at / 32 ? 1 : 0;
    is_jump = name[0] == 'j';
    jump = at;
    jumps.all += is_jump ? 1 : 0;
  }
  pclose(listing);
  std::filesystem::remove(path);
  return jumps;
}

Jumps jumps_for(const std::string& cpu) {
  emit::EmitOptions options;
  options.target = emit::CodeTarget{"x86_64-unknown-linux-gnu", cpu, ""};
  emit::LlvmUnit unit = emit::module_from_kernel(kernel_of_short_loops(), options);
  return jumps_of(*object_from_unit(unit));
}

TEST(ObjectCode, keeps_jumps_off_boundaries_where_they_are_slow) {
  const Jumps padded = jumps_for("cascadelake");
  EXPECT_GE(padded.all, 80);
  EXPECT_EQ(padded.at_boundaries, 0);
  EXPECT_GT(jumps_for("icelake-server").at_boundaries, 0) << "no padding where it buys nothing";
  EXPECT_EQ(jumps_for("skylake").at_boundaries, 0);
}
#endif

} // namespace
} // namespace kawara::run
