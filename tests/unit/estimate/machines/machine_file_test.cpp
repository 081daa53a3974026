#include "estimate/machines/machine_file.h"

#include "estimate/machines/limit.h"
#include "estimate/machines/machine_from_file.h"
#include "estimate/predict.h"
#include "target/gpu.h"
#include "unit/estimate/loops.h"

#include <gtest/gtest.h>

namespace kawara::estimate {
namespace {

Parsed<MachineFile> read(std::string text) {
  return machine_file(make_source("m.json", std::move(text)));
}

/// A processor that comes with Kawara, with one piece of its text replaced.
std::string changed(const std::string& from, const std::string& to,
                    const std::string& name = "textbook-45nm") {
  std::string text = *installed_machine(name);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

struct Refused {
  std::string code, headline;
  uint32_t line = 0;
  std::string underlined;
};

/// The one error that the text gives.
Refused refused(const std::string& text) {
  const auto machine = read(text);
  if (machine || machine.error().size() != 1)
    return {"", machine ? "none" : render(machine.error()), 0, ""};
  const Diagnostic& d = machine.error().front();
  return {d.code, d.headline, line_column(*d.source, d.where.begin).line,
          d.source->text.substr(d.where.begin, d.where.end - d.where.begin)};
}

uint32_t line_of(const std::string& text, const std::string& piece) {
  return static_cast<uint32_t>(std::count(
             text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find(piece)), '\n')) +
         1;
}

TEST(MachineFile, ReadsAllThatComeWithKawara) {
  const std::vector<std::string> names = installed_machines();
  EXPECT_GE(names.size(), 8U);
  for (const std::string& name : names) {
    const auto machine = read(*installed_machine(name));
    ASSERT_TRUE(machine) << name << "\n" << render(machine.error());
    EXPECT_NE(print(*machine).find(machine->name), std::string::npos);
    ASSERT_TRUE(machine->energy) << name;
    for (const auto& each : machine->energy->bytes)
      EXPECT_LE(each.picojoules.low, each.picojoules.high) << name;
  }
}

/// What the files say of GPUs is what code is made with.
TEST(MachineFile, AgreesWithTheTargets) {
  for (const auto& [name, arch] : {std::pair{"a100", "sm_80"}, std::pair{"h200", "sm_90a"}}) {
    const MachineFile machine = *read(*installed_machine(name));
    const target::Gpu gpu = *target::named_gpu(arch);
    EXPECT_EQ(machine.cores, gpu.multiprocessors);
    EXPECT_EQ(machine.levels.back().bytes, gpu.l2);
    EXPECT_NEAR(machine.memory.bandwidth.all_cores / gpu.bandwidth, 1, 0.08) << name;
    EXPECT_EQ(peak_for(machine, scalar::Elem::BF16).operations.all_cores, gpu.rates.bf16);
    EXPECT_EQ(peak_for(machine, scalar::Elem::F32).operations.all_cores, gpu.rates.f32);
  }
  for (const auto& [name, cpu] :
       {std::pair{"neoverse-n1", "neoverse-n1"}, std::pair{"neoverse-v1", "neoverse-v1"},
        std::pair{"sapphire-rapids", "sapphirerapids"}}) {
    const MachineFile machine = *read(*installed_machine(name));
    const target::Cpu target = *target::named_cpu(cpu);
    EXPECT_EQ(machine.vector_bytes, target.vector_bytes);
    EXPECT_EQ(machine.register_bytes, target.vector_registers * target.vector_bytes);
    EXPECT_EQ(machine.levels[0].bytes, target.caches.l1d);
    EXPECT_EQ(machine.levels[1].bytes, target.caches.l2);
  }
}

/// Bytes per FLOP at which memory and arithmetic take equally long: 0.10 and 0.023 were shown in
/// the talk that these two machines are from.
TEST(MachineFile, HasTheBalancesOfTheTalk) {
  const auto balance = [](const std::string& name) {
    const MachineFile machine = *read(*installed_machine(name));
    return machine.memory.bandwidth.all_cores /
           peak_for(machine, scalar::Elem::F32).operations.all_cores;
  };
  EXPECT_NEAR(balance("a100"), 0.10, 0.005);
  EXPECT_NEAR(balance("m3-pro"), 0.023, 0.0005);
}

TEST(MachineFile, RefusesAMissingFigureWithItsLine) {
  const std::string text = changed("\"line_bytes\": 64, \"ways\": 8", "\"ways\": 8");
  const Refused r = refused(text);
  EXPECT_EQ(r.code, "K0471");
  EXPECT_EQ(r.headline, "`levels`, number 2, has no `line_bytes`");
  EXPECT_EQ(r.line, line_of(text, "{\"name\": \"L2\""));
}

TEST(MachineFile, RefusesANegativeFigureWithItsLine) {
  const std::string text = changed("\"one_core\": 4e9", "\"one_core\": -4e9");
  const Refused r = refused(text);
  EXPECT_EQ(r.code, "K0471");
  EXPECT_EQ(r.headline, "`one_core` of `levels`, number 2, is not above 0");
  EXPECT_EQ(r.line, line_of(text, "-4e9"));
  EXPECT_EQ(r.underlined, "-4e9");
}

TEST(MachineFile, RefusesAFieldThatNobodyReads) {
  const Refused r = refused(changed("\"cores\": 1,", "\"cores\": 1, \"coress\": 2,"));
  EXPECT_EQ(r.headline, "the machine has no field `coress`");
  EXPECT_EQ(r.underlined, "\"coress\"");
}

TEST(MachineFile, RefusesFiguresThatDoNotFit) {
  EXPECT_EQ(refused(changed("\"value\": 12.5", "\"value\": 13")).headline,
            "`value` is not between `low` and `high`");
  EXPECT_EQ(refused(changed("\"all_cores\": 4e9", "\"all_cores\": 3e9")).headline,
            "one core is faster than all of them");
  EXPECT_EQ(refused(changed("\"bytes\": 1048576", "\"bytes\": 4096")).headline,
            "`L2` is smaller than `L1`");
  EXPECT_EQ(refused(changed("\"name\": \"L2\"", "\"name\": \"L1\"")).code, "K0471");
  EXPECT_EQ(refused(changed("\"bytes\": 8192", "\"bytes\": 8192.5")).headline,
            "`bytes` of `levels`, number 1, is no whole number above 0");
  EXPECT_EQ(refused(changed("\"bytes\": 8192", "\"bytes\": \"8K\"")).headline,
            "`bytes` of `levels`, number 1, is text");
  EXPECT_EQ(refused(changed("\"kind\": \"cpu\"", "\"kind\": \"fpga\"")).headline,
            "`kind` of the machine is `fpga`");
  EXPECT_EQ(refused(changed("\"policy\": \"lru\"", "\"policy\": \"random\"")).headline,
            "`policy` of `levels`, number 1, is `random`");
  EXPECT_EQ(refused(changed("\"type\": \"f64\"", "\"type\": \"f7\"")).headline,
            "no element type is called `f7`");
  EXPECT_EQ(refused(changed("{\"level\": \"L2\"", "{\"level\": \"L4\"")).headline,
            "the machine has no level `L4`");
  EXPECT_EQ(refused(changed("neon.sdot", "neon.none", "neoverse-v1")).headline,
            "no instruction is called `neon.none`");
}

TEST(MachineFile, SaysAllThatIsWrongAtOnce) {
  std::string text = changed("\"one_core\": 4e9", "\"one_core\": 0");
  text.replace(text.find("\"cores\": 1"), 10, "\"cores\": -1");
  const auto machine = read(text);
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().size(), 2U);
}

TEST(MachineFile, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "{\"a\": }", "[1, 2", "nothing", "{} {}", "{\"a\": 1e999}",
                           "{\"a\": \"\xff\"}", "/* no end"})
    EXPECT_EQ(refused(text).code, "K0470") << text;
  EXPECT_EQ(refused("{\"name\": \"a\",\n \"name\": \"b\"}").line, 2U);
  std::string deep(100, '[');
  EXPECT_EQ(refused(deep).code, "K0470");
  EXPECT_EQ(refused("[]").headline, "the machine is a list, not an object");
  EXPECT_EQ(refused("{\n \"cores\": 1,,\n}").line, 2U);
}

TEST(MachineFile, FindsPlacesBehindComments) {
  const std::string text = "// one\n{ /* two\n */ \"cores\" : // \"three\"\n -7 }";
  const auto machine = read(text);
  ASSERT_FALSE(machine);
  bool is_found = false;
  for (const Diagnostic& d : machine.error())
    if (d.headline.find("`cores`") != std::string::npos) {
      is_found = true;
      EXPECT_EQ(line_column(*d.source, d.where.begin).line, 4U);
    }
  EXPECT_TRUE(is_found);
}

/// What-if: a figure of the file is the figure of the prediction.
TEST(MachineFile, ChangesPredictionsWithItsFigures) {
  const Predicted copy = loops_of("param N\ninput A: f32[N]\noutput B: f32[N]\n"
                                  "for i in range(N):\n    B[i] = A[i] * 2\n");
  const std::vector<int64_t> sizes{1 << 22};
  const Work work = *count(copy.program, sizes);
  const auto seconds = [&](const std::string& text) {
    const MachineFile file = *read(text);
    return predict(work, copy.kernel, sizes, machine_from_file(file), 1);
  };
  const Prediction before = seconds(*installed_machine("textbook-45nm"));
  EXPECT_EQ(before.bound, "memory");
  // The last bandwidth of the text is the memory's.
  std::string slower = *installed_machine("textbook-45nm");
  const std::string rate = "\"one_core\": 1e9, \"all_cores\": 1e9, \"source\": \"made up\"}";
  ASSERT_NE(slower.find(rate), std::string::npos);
  slower.replace(slower.find(rate), rate.size(),
                 "\"one_core\": 5e8, \"all_cores\": 5e8, \"source\": \"made up\"}");
  EXPECT_DOUBLE_EQ(seconds(slower).seconds, 2 * before.seconds);
  const Prediction larger = seconds(changed("\"bytes\": 1048576", "\"bytes\": 104857600"));
  EXPECT_EQ(larger.levels.back().bytes, 0) << "all of it fits into the L2";
  EXPECT_EQ(larger.bound, "L2");
}

TEST(Limit, IsTheSlowerOfArithmeticAndMemory) {
  const MachineFile machine = *read(*installed_machine("a100"));
  Work work;
  work.types[scalar::Elem::F32] = work.flops = 19.5e12;
  work.compulsory_bytes = 2.039e12 / 2;
  const Limit limit = limit_on(machine, work, machine.cores);
  EXPECT_DOUBLE_EQ(limit.arithmetic_seconds, 1);
  EXPECT_DOUBLE_EQ(limit.memory_seconds, 0.5);
  EXPECT_EQ(limit.seconds(), 1);
  // i16 has no peak: that of f32 is the next one with room for it; bf16 takes the tensor cores'.
  EXPECT_EQ(peak_for(machine, scalar::Elem::BF16).unit, ComputeUnit::Matrix);
  EXPECT_EQ(peak_for(machine, scalar::Elem::F8E4M3).elem, scalar::Elem::BF16);
}

} // namespace
} // namespace kawara::estimate
