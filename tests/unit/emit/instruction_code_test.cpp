#include "emit/unit.h"
#include "program/interpret/instruction.h"
#include "target/intrinsic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

// Every instruction is compiled for a processor that has it, whatever this one is.

namespace kawara::emit {
namespace {

CodeTarget target_with(const target::Intrinsic& data) {
  if (data.arch == target::Arch::Aarch64)
    return {"aarch64-unknown-linux-gnu", "neoverse-v1",
            "+neon,+fullfp16,+dotprod,+i8mm,+bf16,-sve"};
  if (data.name.rfind("avx512.", 0) == 0 || data.is_tile)
    return {"x86_64-unknown-linux-gnu", "sapphirerapids", ""};
  return {"x86_64-unknown-linux-gnu", "haswell", ""};
}

/// c = instruction(a, b, c), on buffers of one register each.
kernel::Kernel one(const target::Intrinsic& data) {
  const program::Instruction instruction = program::instruction_of(data);
  kernel::Kernel k;
  k.name = "one";
  std::vector<scalar::Expr> args;
  for (uint32_t t = 0; t < instruction.operands.size(); ++t) {
    const program::Operand& operand = instruction.operands[t];
    const auto lanes = static_cast<uint16_t>(operand.lanes());
    k.buffers.push_back({operand.name,
                         operand.elem,
                         {scalar::int_lit(lanes)},
                         kernel::Scope::Argument,
                         program::Role::Inout});
    const scalar::Expr elements =
        scalar::load(t, {scalar::ramp(scalar::int_lit(0), 1, lanes)}, {operand.elem, lanes});
    int64_t bytes = 0;
    for (const target::Register& held : data.arguments)
      if (held.operand == operand.name[0])
        bytes = held.lanes * scalar::bytes_of(*scalar::elem_from_name(held.elem));
    const int64_t wanted = bytes == 0 ? lanes : bytes / scalar::bytes_of(operand.elem);
    args.push_back(scalar::broadcast(elements, static_cast<uint16_t>(wanted)));
  }
  const auto result = static_cast<uint32_t>(instruction.operands.size() - 1);
  const auto lanes = static_cast<uint16_t>(instruction.result().lanes());
  const scalar::Expr value = scalar::instruction(std::string(data.name), std::move(args));
  const scalar::Type computed{scalar::compute_type(instruction.result().elem), lanes};
  k.body.emplace_back(kernel::Store{result,
                                    {scalar::ramp(scalar::int_lit(0), 1, lanes)},
                                    scalar::ReduceOp::None,
                                    scalar::cast(value, computed)});
  return k;
}

/// What LLVM cannot select by itself ends the process.
TEST(InstructionCode, OfAProcessorThatLacksItIsRefused) {
  const bool is_arm = host_code_target().triple.starts_with("aarch64");
  const target::Intrinsic& data =
      *target::find_intrinsic(is_arm ? "neon.smmla" : "avx512.vpdpbusd");
  const kernel::Kernel k = one(data);
  EmitOptions without;
  without.target = is_arm ? CodeTarget{"aarch64-unknown-linux-gnu", "cortex-a53", "-i8mm,-sve"}
                          : CodeTarget{"x86_64-unknown-linux-gnu", "x86-64", ""};
  for (int attempt = 0; attempt < 3; ++attempt) {
    const LlvmUnit unit = module_from_kernel(k, without);
    const auto refused = unit.assembly();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "K0449");
    EXPECT_NE(refused.error().headline.find("kernel `one` for "), std::string::npos);
    EXPECT_NE(refused.error().body.at(0).find("LLVM says: "), std::string::npos);
    EXPECT_EQ(refused.error().body.at(0).find("0x"), std::string::npos)
        << "addresses are others in every run: " << refused.error().body.at(0);
    EXPECT_FALSE(unit.assembly()) << "a unit that LLVM left amid its work stays refused";
  }
  EmitOptions with;
  with.target = target_with(data);
  const auto text = module_from_kernel(k, with).assembly();
  ASSERT_TRUE(text);
  EXPECT_NE(text->find(data.mnemonic), std::string::npos) << "LLVM works on after a failure";
}

TEST(InstructionCode, IsTheInstruction) {
  for (const target::Intrinsic& data : target::intrinsics()) {
    if (data.is_collective)
      continue; // emit/cuda has them
    SCOPED_TRACE(data.name);
    EmitOptions options;
    options.target = target_with(data);
#ifndef KAWARA_LLVM_HAS_ALL_TARGETS
    // A bundle's LLVM makes code for its own machine.
    const auto arch = [](const std::string& triple) { return triple.substr(0, triple.find('-')); };
    if (arch(options.target->triple) != arch(host_code_target().triple))
      continue;
#endif
    const kernel::Kernel k = one(data);
    EXPECT_EQ(kernel::spec(k), std::vector<std::string>{});
    const std::string text = *module_from_kernel(k, options).assembly();
    EXPECT_NE(text.find(data.mnemonic), std::string::npos) << text;
  }
}

#ifdef KAWARA_LLVM_HAS_ALL_TARGETS
size_t words_in(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t p = text.find(word); p != std::string::npos; p = text.find(word, p + 1))
    ++found;
  return found;
}

TEST(InstructionCode, LongVectorsAreNoTiles) {
  kernel::Kernel k = one(*target::find_intrinsic("amx.tdpbf16ps"));
  const auto update = std::get<kernel::Store>(k.body.front());
  const scalar::Expr elements = scalar::load(2, update.index, {scalar::Elem::F32, 256});
  k.body = {kernel::Store{2, update.index, scalar::ReduceOp::None, elements + elements}};
  EmitOptions options;
  options.target = CodeTarget{"x86_64-unknown-linux-gnu", "haswell", ""};
  const std::string text = *module_from_kernel(k, options).assembly();
  EXPECT_EQ(text.find("tile"), std::string::npos) << text;
  options.target = CodeTarget{"x86_64-unknown-linux-gnu", "sapphirerapids", ""};
  const kernel::Kernel product = one(*target::find_intrinsic("amx.tdpbf16ps"));
  EXPECT_NE(module_from_kernel(product, options).assembly()->find("tile"), std::string::npos);
  EXPECT_NE(text.find("vaddps"), std::string::npos) << text;
}

TEST(InstructionCode, TilesStayInTheirRegistersOverALoop) {
  const target::Intrinsic& data = *target::find_intrinsic("amx.tdpbf16ps");
  kernel::Kernel k = one(data);
  for (kernel::Buffer& buffer : k.buffers)
    if (buffer.name != "c")
      buffer.shape = {scalar::int_lit(100 * 512)};
  auto update = std::get<kernel::Store>(k.body.front());
  const uint32_t sum = kernel::add_variable(k, "sum", {scalar::Elem::F32, 256});
  const uint32_t step = kernel::add_variable(k, "step", scalar::kIndex);
  const scalar::Expr at = scalar::ramp(scalar::var(step) * scalar::int_lit(512), 1, 512);
  const scalar::Type pairs{scalar::Elem::BF16, 512};
  kernel::For loop;
  loop.var = step;
  loop.lo = scalar::int_lit(0);
  loop.hi = scalar::int_lit(100);
  loop.body.emplace_back(kernel::Assign{
      sum, scalar::instruction(std::string(data.name),
                               {scalar::load(0, {at}, pairs), scalar::load(1, {at}, pairs),
                                scalar::var(sum, {scalar::Elem::F32, 256})})});
  k.body = {kernel::Define{sum, scalar::load(2, update.index, {scalar::Elem::F32, 256})},
            std::move(loop),
            kernel::Store{2, update.index, scalar::ReduceOp::None,
                          scalar::var(sum, {scalar::Elem::F32, 256})}};
  EXPECT_EQ(kernel::spec(k), std::vector<std::string>{});
  EmitOptions options;
  options.target = target_with(data);
  const std::string text = *module_from_kernel(k, options).assembly();
  const auto count = [&](const std::string& word) { return words_in(text, word); };
  EXPECT_GE(count("tdpbf16ps"), 1U) << text;
  EXPECT_EQ(count("tileloadd"), 2 * count("tdpbf16ps") + 1) << text;
  EXPECT_EQ(count("tilestored"), 1U) << text;
}

TEST(InstructionCode, TilesOfABlockAreLoadedOnce) {
  const target::Intrinsic& data = *target::find_intrinsic("amx.tdpbf16ps");
  kernel::Kernel k = one(data);
  for (kernel::Buffer& buffer : k.buffers)
    buffer.shape = {scalar::int_lit(2 * (buffer.name == "c" ? 256 : 512))};
  // Two products with the same left tile; the second starts from zero.
  const scalar::Type pairs{scalar::Elem::BF16, 512}, sums{scalar::Elem::F32, 256};
  const auto tile = [](int64_t at, uint16_t lanes) {
    return std::vector{scalar::ramp(scalar::int_lit(at), 1, lanes)};
  };
  k.body.clear();
  for (int64_t j = 0; j < 2; ++j)
    k.body.emplace_back(kernel::Store{
        2, tile(256 * j, 256), scalar::ReduceOp::None,
        scalar::instruction(
            std::string(data.name),
            {scalar::load(0, tile(0, 512), pairs), scalar::load(1, tile(512 * j, 512), pairs),
             j == 0 ? scalar::load(2, tile(0, 256), sums)
                    : scalar::broadcast(scalar::float_lit(0, {scalar::Elem::F32, 1}), 256)})});
  EXPECT_EQ(kernel::spec(k), std::vector<std::string>{});
  EmitOptions options;
  options.target = target_with(data);
  const std::string text = *module_from_kernel(k, options).assembly();
  EXPECT_EQ(words_in(text, "tdpbf16ps"), 2U) << text;
  EXPECT_EQ(words_in(text, "tileloadd"), 4U) << "a, two of b, one of c" << text;
  EXPECT_EQ(words_in(text, "tilezero"), 1U) << text;
  EXPECT_EQ(words_in(text, "ldtilecfg"), 1U) << text;
}

TEST(InstructionCode, LanesThatTakeTurnsAreOneStore) {
  kernel::Kernel k;
  k.name = "turns";
  for (const char* name : {"rows", "packed"})
    k.buffers.push_back({name,
                         scalar::Elem::I8,
                         {scalar::int_lit(64)},
                         kernel::Scope::Argument,
                         program::Role::Inout});
  const scalar::Type row{scalar::Elem::I8, 16};
  for (int64_t r = 0; r < 4; ++r)
    k.body.emplace_back(kernel::Store{
        1,
        {scalar::ramp(scalar::int_lit(r), 4, 16)},
        scalar::ReduceOp::None,
        scalar::cast(scalar::load(0, {scalar::ramp(scalar::int_lit(16 * r), 1, 16)}, row),
                     {scalar::Elem::I32, 16})});
  EXPECT_EQ(kernel::spec(k), std::vector<std::string>{});
  EmitOptions options;
  options.target = CodeTarget{"x86_64-unknown-linux-gnu", "sapphirerapids", ""};
  const std::string text = *module_from_kernel(k, options).assembly();
  EXPECT_EQ(words_in(text, "vpextrb"), 0U) << text;
  EXPECT_NE(text.find("%zmm"), std::string::npos) << "one run of 64 bytes" << text;
}

/// out[j, 0..13] = tile[0..13, j], or out[j, 0..13] += tile[j, 0..13], for 16 values of j.
kernel::Kernel sixteen_rows(bool stores_transposed) {
  kernel::Kernel k;
  k.name = "rows";
  const auto matrix = [](const char* name) {
    return kernel::Buffer{name,
                          scalar::Elem::F32,
                          {scalar::int_lit(16), scalar::int_lit(16)},
                          kernel::Scope::Argument,
                          program::Role::Inout};
  };
  k.buffers = {matrix("tile"), matrix("out")};
  const scalar::Type type{scalar::Elem::F32, 14};
  const scalar::Expr run = scalar::ramp(scalar::int_lit(0), 1, 14);
  for (int64_t j = 0; j < 16; ++j) {
    const scalar::Expr at = scalar::int_lit(j);
    const scalar::Expr column = scalar::load(0, {run, at}, type);
    const scalar::Expr sum = scalar::load(1, {at, run}, type) + scalar::load(0, {at, run}, type);
    k.body.emplace_back(
        kernel::Store{1, {at, run}, scalar::ReduceOp::None, stores_transposed ? column : sum});
  }
  return k;
}

TEST(InstructionCode, MasksStoresOfTilesThatWereTransposedOverAlone) {
  EmitOptions options;
  options.target = CodeTarget{"x86_64-unknown-linux-gnu", "sapphirerapids", ""};
  const std::string tile = *module_from_kernel(sixteen_rows(true), options).assembly();
  EXPECT_NE(tile.find("{%k"), std::string::npos) << tile;
  EXPECT_EQ(tile.find("gather"), std::string::npos) << tile;
  const std::string sums = *module_from_kernel(sixteen_rows(false), options).assembly();
  EXPECT_EQ(sums.find("{%k"), std::string::npos) << "a load could not be forwarded" << sums;
}

int times_in(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

std::string assembly_for(const kernel::Kernel& k, const char* triple, const char* cpu) {
  EmitOptions options;
  options.target = CodeTarget{triple, cpu, ""};
  return *module_from_kernel(k, options).assembly();
}

/// Rows of an image that are 320 bytes apart, seven of them.
TEST(InstructionCode, LoadsFewRowsOfTilesFromWhereTheyLie) {
  const scalar::Expr zero = scalar::int_lit(0);
  kernel::Kernel k = one(*target::find_intrinsic("amx.tdpbssd"));
  k.buffers[0].shape = {scalar::int_lit(16), scalar::int_lit(320)};
  const std::vector<scalar::Expr> elements{scalar::ramp(zero, 1, 7 * 16)};
  std::vector<scalar::Expr> args{
      scalar::load(0, {scalar::runs(zero, 64, 320, 7 * 64)}, {scalar::Elem::I8, 7 * 64}),
      scalar::load(1, {scalar::ramp(zero, 1, 1024)}, {scalar::Elem::I8, 1024}),
      scalar::load(2, elements, {scalar::Elem::I32, 7 * 16})};
  k.body = {kernel::Store{2, elements, scalar::ReduceOp::None,
                          scalar::instruction("amx.tdpbssd", std::move(args))}};
  EXPECT_EQ(kernel::spec(k), std::vector<std::string>{});
  const std::string text = assembly_for(k, "x86_64-unknown-linux-gnu", "sapphirerapids");
  EXPECT_EQ(words_in(text, "tileloadd"), 3U) << text;
  EXPECT_EQ(words_in(text, "tdpbssd"), 1U) << text;
  EXPECT_EQ(words_in(text, "tilestored"), 1U) << "results go straight to memory" << text;
  EXPECT_NE(text.find("$320, %"), std::string::npos) << "the distance of rows" << text;
  EXPECT_NE(text.find("$7, "), std::string::npos) << "registers are configured for seven" << text;
}

TEST(InstructionCode, ResultsThatLeaveAreStoredUnderMasks) {
  kernel::Kernel k = sixteen_rows(true);
  k.buffers[1].role = program::Role::Output;
  k.buffers.push_back(k.buffers[0]);
  k.buffers.back().name = "more";
  for (kernel::Stmt& stmt : k.body) {
    auto& store = std::get<kernel::Store>(stmt);
    const scalar::Type type = store.value.type();
    const scalar::Expr element =
        scalar::load(2, {store.index[0], scalar::int_lit(3)}, {type.elem, 1});
    store.value =
        scalar::binary(scalar::BinaryOp::Max, store.value + scalar::load(2, store.index, type),
                       scalar::broadcast(element, type.lanes));
  }
  EXPECT_EQ(kernel::spec(k), std::vector<std::string>{});
  const std::string text = assembly_for(k, "x86_64-unknown-linux-gnu", "sapphirerapids");
  EXPECT_TRUE(std::regex_search(text, std::regex("vmovups\\s+%zmm[0-9]+, .*\\{%k"))) << text;
  EXPECT_EQ(text.find("vextractf"), std::string::npos) << "stored in pieces" << text;
  const std::string arm = assembly_for(k, "aarch64-unknown-linux-gnu", "neoverse-n1");
  EXPECT_NE(arm.find("fmax"), std::string::npos) << arm;
}

TEST(InstructionCode, RegistersAreLoadedSinglyOnANeoverseN1) {
  kernel::Kernel k = sixteen_rows(false);
  const scalar::Type type{scalar::Elem::F32, 8};
  const scalar::Expr run = scalar::ramp(scalar::int_lit(0), 1, 8);
  const scalar::Expr x = scalar::load(0, {scalar::int_lit(0), run}, type);
  k.buffers[1].role = program::Role::Output;
  k.body = {kernel::Store{1, {scalar::int_lit(0), run}, scalar::ReduceOp::None, x + x}};
  const std::regex pair("ldp\\s+q");
  const auto loads_pairs = [&](const char* cpu) {
    return std::regex_search(assembly_for(k, "aarch64-unknown-linux-gnu", cpu), pair);
  };
  EXPECT_TRUE(loads_pairs("neoverse-v1"));
  EXPECT_FALSE(loads_pairs("neoverse-n1"));
}

/// A shift into a number of which the lower bits are there, and where they do not fit a sum.
TEST(InstructionCode, ShiftsIntoANumberAreOneInstruction) {
  kernel::Kernel k = sixteen_rows(false);
  k.buffers[0].elem = k.buffers[1].elem = scalar::Elem::I32;
  k.buffers[1].role = program::Role::Output;
  const scalar::Type type{scalar::Elem::I32, 8};
  const scalar::Expr run = scalar::ramp(scalar::int_lit(0), 1, 8);
  const scalar::Expr x = scalar::load(0, {scalar::int_lit(0), run}, type);
  for (const int64_t low : {(int64_t{1} << 22) - 1, int64_t{1} << 22}) {
    k.body = {kernel::Store{1,
                            {scalar::int_lit(0), run},
                            scalar::ReduceOp::None,
                            x * scalar::int_lit(1 << 22, type) + scalar::int_lit(low, type)}};
    const std::string text = assembly_for(k, "aarch64-unknown-linux-gnu", "neoverse-n1");
    EXPECT_EQ(text.find("\tsli\t") != std::string::npos, low < 1 << 22) << text;
  }
}

/// out[0, 0..10] = limited(in[0, 0..10]), through a variable.
kernel::Kernel eleven_lanes() {
  kernel::Kernel k = sixteen_rows(false);
  const scalar::Type type{scalar::Elem::F32, 11};
  const auto number = [&](double value) {
    return scalar::broadcast(scalar::float_lit(value, {scalar::Elem::F32, 1}), 11);
  };
  const scalar::Expr run = scalar::ramp(scalar::int_lit(0), 1, 11);
  const scalar::Expr x = scalar::var(0, type);
  k.variables = {{"x", type}};
  k.buffers[1].role = program::Role::Output;
  k.body = {
      kernel::Define{0, scalar::load(0, {scalar::int_lit(0), run}, type)},
      kernel::Store{1,
                    {scalar::int_lit(0), run},
                    scalar::ReduceOp::None,
                    scalar::binary(scalar::BinaryOp::NanMin, number(20),
                                   scalar::binary(scalar::BinaryOp::NanMax, number(-120), x)) *
                        x}};
  return k;
}

TEST(InstructionCode, LanesThatFillNoRegisterComeAndGoUnderAMask) {
  const kernel::Kernel k = eleven_lanes();
  EXPECT_EQ(kernel::spec(k), std::vector<std::string>{});
  const std::string text = assembly_for(k, "x86_64-unknown-linux-gnu", "sapphirerapids");
  EXPECT_TRUE(std::regex_search(text, std::regex("vmovups\\s+%zmm[0-9]+, .*\\{%k"))) << text;
  EXPECT_EQ(text.find("vinsert"), std::string::npos) << "loaded in pieces" << text;
  EXPECT_EQ(text.find("vextract"), std::string::npos) << "stored in pieces" << text;
}

TEST(InstructionCode, ALimitThatKeepsNanIsOneInstruction) {
  const std::string text =
      assembly_for(eleven_lanes(), "x86_64-unknown-linux-gnu", "sapphirerapids");
  EXPECT_NE(text.find("vmaxps"), std::string::npos) << text;
  EXPECT_NE(text.find("vminps"), std::string::npos) << text;
  EXPECT_EQ(text.find("unord"), std::string::npos) << text;
}

TEST(InstructionCode, StreamedResultsGoPastTheCaches) {
  kernel::Kernel k = sixteen_rows(true);
  k.body.resize(1);
  const scalar::Expr run = scalar::ramp(scalar::int_lit(0), 1, 16);
  const scalar::Type type{scalar::Elem::F32, 16};
  const scalar::Expr row = scalar::load(0, {scalar::int_lit(0), run}, type);
  k.body[0] = kernel::Store{1, {scalar::int_lit(0), run}, scalar::ReduceOp::None, row};
  k.buffers[1].is_streamed = true;
  const std::string x86 = assembly_for(k, "x86_64-unknown-linux-gnu", "sapphirerapids");
  EXPECT_NE(x86.find("vmovntps"), std::string::npos) << x86;
  EXPECT_NE(x86.find("sfence"), std::string::npos) << x86;
  const std::string arm = assembly_for(k, "aarch64-unknown-linux-gnu", "neoverse-n1");
  EXPECT_NE(arm.find("stnp\tq"), std::string::npos) << arm;
}

/// For 16 rows of 32 elements: out = x > 5.5 ? x : a chain of products and sums of x with so many
/// numbers. With `writes_before` x goes to another row first.
kernel::Kernel limited_rows(int numbers, bool writes_before) {
  kernel::Kernel k = sixteen_rows(false);
  for (kernel::Buffer& buffer : k.buffers)
    buffer.shape[1] = scalar::int_lit(32);
  const scalar::Type type{scalar::Elem::F32, 32};
  const auto number = [&](double value) {
    return scalar::broadcast(scalar::float_lit(value, {scalar::Elem::F32, 1}), 32);
  };
  const scalar::Expr run = scalar::ramp(scalar::int_lit(0), 1, 32);
  const scalar::Expr x = scalar::var(1, type);
  scalar::Expr value = x;
  for (int i = 1; i < numbers; ++i)
    value = scalar::binary(i % 2 == 0 ? scalar::BinaryOp::Mul : scalar::BinaryOp::Sub, value,
                           number(i + 0.3));
  k.variables = {{"i", scalar::kIndex}, {"x", type}, {"p", type}};
  kernel::For loop;
  loop.var = 0;
  loop.lo = scalar::int_lit(0);
  loop.hi = scalar::int_lit(16);
  loop.body = {kernel::Define{1, scalar::load(0, {scalar::var(0), run}, type)}};
  if (writes_before)
    loop.body.emplace_back(
        kernel::Store{1, {scalar::int_lit(15) - scalar::var(0), run}, scalar::ReduceOp::None, x});
  loop.body.emplace_back(kernel::Define{2, value});
  loop.body.emplace_back(
      kernel::Store{1,
                    {scalar::var(0), run},
                    scalar::ReduceOp::None,
                    scalar::select(scalar::binary(scalar::BinaryOp::Gt, x, number(5.5)), x,
                                   scalar::var(2, type))});
  k.body = {loop};
  return k;
}

TEST(InstructionCode, WhatIsNeededOnceMoreAtTheEndIsLoadedAgain) {
  const auto registers_loaded = [](bool writes_before) {
    const kernel::Kernel k = limited_rows(3, writes_before);
    EXPECT_EQ(kernel::spec(k), std::vector<std::string>{});
    const std::string text = assembly_for(k, "aarch64-unknown-linux-gnu", "neoverse-n1");
    const auto count = [&](const char* pattern) {
      const std::regex load(pattern);
      return std::distance(std::sregex_iterator(text.begin(), text.end(), load),
                           std::sregex_iterator());
    };
    return 2 * count("ldp\\s+q") + count("ldr\\s+q[0-9]+, \\[x[0-9]+(, [x#]|\\])");
  };
  EXPECT_GE(registers_loaded(false), 16) << "32 elements twice";
  EXPECT_LT(registers_loaded(true), 16) << "perhaps they are others by then";
}

TEST(InstructionCode, FewNumbersStayInRegisters) {
  const auto loads_numbers = [](int numbers) {
    return assembly_for(limited_rows(numbers, true), "aarch64-unknown-linux-gnu", "neoverse-n1")
               .find("kw_constant.4x32") != std::string::npos;
  };
  EXPECT_FALSE(loads_numbers(4));
  EXPECT_TRUE(loads_numbers(5));
}

/// One instruction for the greater, at most one for NaN: neither waits for the other.
TEST(InstructionCode, TheGreatestOfManyTakesTwoInstructionsForEach) {
  kernel::Kernel k = sixteen_rows(false);
  const scalar::Type type{scalar::Elem::F32, 16};
  const scalar::Expr run = scalar::ramp(scalar::int_lit(0), 1, 16);
  k.variables = {{"i", scalar::kIndex}, {"greatest", type}};
  kernel::For loop;
  loop.var = 0;
  loop.lo = scalar::int_lit(0);
  loop.hi = scalar::int_lit(16);
  const scalar::Expr greatest = scalar::var(1, type);
  loop.body = {kernel::Assign{1, scalar::binary(scalar::BinaryOp::Max, greatest,
                                                scalar::load(0, {scalar::var(0), run}, type))}};
  k.body = {kernel::Define{
                1, scalar::broadcast(scalar::float_lit(-INFINITY, {scalar::Elem::F32, 1}), 16)},
            loop, kernel::Store{1, {scalar::int_lit(0), run}, scalar::ReduceOp::None, greatest}};
  EXPECT_EQ(kernel::spec(k), std::vector<std::string>{});
  const std::string text = assembly_for(k, "x86_64-unknown-linux-gnu", "sapphirerapids");
  EXPECT_GE(times_in(text, "vcmpordps"), 1) << text;
  EXPECT_LE(times_in(text, "vcmpordps"), times_in(text, "vmaxps")) << text;
  EXPECT_LE(times_in(text, "{%k"), times_in(text, "vcmpordps") + 1) << text;
  const std::string older = assembly_for(k, "x86_64-unknown-linux-gnu", "haswell");
  EXPECT_EQ(times_in(older, "vmaxps"), times_in(older, "vcmpunordps")) << older;
  EXPECT_EQ(times_in(older, "vblendvps"), 0) << older;
  // Beside a number, x86 has one instruction that lets NaN through.
  k.body = {kernel::Store{
      1,
      {scalar::int_lit(0), run},
      scalar::ReduceOp::None,
      scalar::binary(scalar::BinaryOp::Max, scalar::load(0, {scalar::int_lit(0), run}, type),
                     scalar::broadcast(scalar::float_lit(0, {scalar::Elem::F32, 1}), 16))}};
  const std::string relu = assembly_for(k, "x86_64-unknown-linux-gnu", "sapphirerapids");
  EXPECT_EQ(times_in(relu, "vmaxps"), 1) << relu;
  EXPECT_EQ(times_in(relu, "vcmp"), 0) << relu;
}
#endif

TEST(CodeTargets, AreTheSameSystemWhoeverMadeTheMachine) {
  EXPECT_TRUE(has_same_system("x86_64-unknown-linux-gnu", "x86_64-pc-linux-gnu"));
  EXPECT_FALSE(has_same_system("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"));
  EXPECT_FALSE(has_same_system("x86_64-pc-linux-gnu", "x86_64-pc-windows-msvc"));
}

} // namespace
} // namespace kawara::emit
