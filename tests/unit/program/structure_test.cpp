#include "unit/program/text_of.h"

namespace kawara::program {
namespace {

const std::string kStructureHead = "param N, M\n"
                                   "input A: f32[N, M], x: f32[M]\n"
                                   "output C: f32[N], D: f32[N, M]\n"
                                   "temp s: f32\n";

TEST(Structure, DeclarationsKeepOrderRolesAndTypes) {
  const Program p = parsed("param N, K\nassume N >= 4 and K % 8 == 0\nnumerics exact\n"
                           "input a: bf16[N + 2, 2*K, N // 2]\ninout b: u8[3]\noutput c: i64\n"
                           "c = 0\n");
  ASSERT_EQ(p.params.size(), 2u);
  ASSERT_EQ(p.tensors.size(), 3u);
  EXPECT_EQ(p.tensors[0].role, Role::Input);
  EXPECT_EQ(p.tensors[0].elem, scalar::Elem::BF16);
  EXPECT_EQ(p.tensors[0].shape.size(), 3u);
  EXPECT_EQ(p.tensors[1].role, Role::Inout);
  EXPECT_TRUE(p.tensors[2].shape.empty());
  EXPECT_EQ(p.numerics, Numerics::Exact);
  ASSERT_EQ(p.assumptions.size(), 1u);
  EXPECT_EQ(scalar::to_string(p.assumptions[0], names_of(p)), "N >= 4 and K % 8 == 0");
}

TEST(Structure, ImperfectNestNumbersStatementsInTextOrder) {
  const Program p = parsed(kStructureHead + "for i in range(N):\n"
                                            "    C[i] = 0\n"
                                            "    for j in range(M): C[i] += A[i, j]\n"
                                            "    D[i, 0] = C[i]\n"
                                            "C[0] = 1\n");
  ASSERT_EQ(p.statements.size(), 4u);
  EXPECT_EQ(p.statements[1].name, "S1");
  EXPECT_EQ(p.statements[1].iters, (std::vector<std::string>{"i", "j"}));
  EXPECT_EQ(p.statements[1].op, ReduceOp::Sum);
  EXPECT_EQ(p.statements[3].iters.size(), 0u);
  ASSERT_EQ(p.body.size(), 2u);
  EXPECT_EQ(std::get<Loop>(p.body[0]).body.size(), 3u);
}

TEST(Structure, SpansPointAtTheText) {
  const std::string text = kStructureHead + "for i in range(N):\n    C[i] = x[0] + 1\n";
  const Program p = parsed(text);
  const Span s = p.statements[0].where, l = std::get<Loop>(p.body[0]).where;
  EXPECT_EQ(text.substr(s.begin, s.end - s.begin), "C[i] = x[0] + 1");
  EXPECT_EQ(text.substr(l.begin, l.end - l.begin), "for i in range(N):");
}

TEST(Structure, Ranges) {
  EXPECT_EQ(body_of(kStructureHead + "for i in range(N - 1, -1, -2):\n    C[i] = 0\n"),
            "for i in range(N - 1, -1, -2):\n    C[i] = 0.0\n");
  EXPECT_EQ(body_of(kStructureHead +
                    "for i in range(0, N):\n  for j in range(max(0, i - 2), min(M, i + 3)):\n"
                    "    D[i, j] = 0\n"),
            "for i in range(N):\n    for j in range(max(0, i - 2), min(M, i + 3)):\n"
            "        D[i, j] = 0.0\n");
}

TEST(Structure, IfElifElseAndChainedComparisons) {
  EXPECT_EQ(body_of(kStructureHead + "for i in range(N):\n"
                                     "    if 1 <= i < N - 1 and not i % 2 == 0:\n"
                                     "        C[i] = 1\n"
                                     "    elif i == 0: C[i] = 2\n"
                                     "    else:\n"
                                     "        C[i] = 3\n"),
            "for i in range(N):\n"
            "    if 1 <= i and i < N - 1 and not i % 2 == 0:\n"
            "        C[i] = 1.0\n"
            "    else:\n"
            "        if i == 0:\n"
            "            C[i] = 2.0\n"
            "        else:\n"
            "            C[i] = 3.0\n");
}

TEST(Structure, LinesMayBreakInsideBrackets) {
  EXPECT_EQ(body_of(kStructureHead + "C[i] = (x[0] +   # first\n\n"
                                     "  x[1])\n"),
            "for i in range(N):\n    C[i] = x[0] + x[1]\n");
}

TEST(Structure, LoopNamesMayBeUsedAgain) {
  EXPECT_EQ(
      codes_of(kStructureHead + "for i in range(N): C[i] = 0\nfor i in range(N): C[i] += 1\n"), "");
}

TEST(Structure, FreeIndicesBecomeLoopsInOrderOnTheLeft) {
  EXPECT_EQ(body_of(kStructureHead + "D[j, i] = x[i] * A[j, i]\n"),
            "for j in range(N):\n    for i in range(M):\n        D[j, i] = x[i] * A[j, i]\n");
  EXPECT_EQ(body_of(kStructureHead + "for i in range(2):\n    D[i, j] = x[j]\n"),
            "for i in range(2):\n    for j in range(M):\n        D[i, j] = x[j]\n");
}

TEST(Structure, FreeIndexMayReadASmallerPartOfALargerTensor) {
  EXPECT_EQ(body_of("param W\ninput f: f32[W]\noutput g: f32[W - 2]\ng[i] = f[i] + f[i + 2]\n"),
            "for i in range(W - 2):\n    g[i] = f[i] + f[i + 2]\n");
}

TEST(Structure, ScalarsWithAndWithoutBrackets) {
  EXPECT_EQ(body_of(kStructureHead + "s[] = 1\nC[0] = s\nC[1] = s[]\n"),
            "s = 1.0\nC[0] = s\nC[1] = s\n");
}

TEST(Structure, UpdatesAreRecognised) {
  const std::pair<const char*, const char*> cases[] = {
      {"s = s + x[0]", "s += x[0]"},
      {"s = x[0] + s", "s += x[0]"},
      {"s = s - x[0]", "s += -x[0]"},
      {"s -= 1", "s += -1.0"},
      {"s = s * 2", "s *= 2.0"},
      {"s = max(s, x[0])", "s max= x[0]"},
      {"s = min(x[0], s)", "s min= x[0]"},
      // Not updates: the old value is used twice, is subtracted from, or belongs to another
      // element.
      {"s = s + s", "s = s + s"},
      {"s += s", "s = s + s"},
      {"s = x[0] - s", "s = x[0] - s"},
      {"C[0] = C[1] + x[0]", "C[0] = C[1] + x[0]"},
      {"C[0] += C[1]", "C[0] += C[1]"},
      // Regrouping is not the parser's business.
      {"s = s + x[0] + x[1]", "s = s + x[0] + x[1]"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(body_of(kStructureHead + text + "\n"), std::string(expected) + "\n");
}

TEST(Structure, SpecialiseFixesParametersEverywhere) {
  const Program p =
      parsed(kStructureHead + "for i in range(N - 1):\n    C[i + N - 4] = x[M - 1] * M\n");
  const Program q = specialise(p, {4, std::nullopt});
  EXPECT_EQ(q.params.size(), 2u);
  EXPECT_EQ(print(q),
            "param N, M\nassume N == 4\ninput A: f32[4, M]\ninput x: f32[M]\noutput C: f32[4]\n"
            "output D: f32[4, M]\ntemp s: f32\n\n"
            "for i in range(3):\n    C[i] = x[M - 1] * f32(M)\n");
  EXPECT_TRUE(spec(q).empty());
}

TEST(Structure, SpecNamesWhatIsBroken) {
  Program p = parsed(kStructureHead + "for i in range(N):\n    C[i] = 0\n");
  EXPECT_TRUE(spec(p).empty());
  Program order = p;
  order.statements[0].name = "S7";
  EXPECT_EQ(spec(order), std::vector<std::string>{"statement 0 is called S7"});
  Program deep = p;
  deep.statements[0].index[0] = scalar::iter(3);
  EXPECT_EQ(spec(deep), std::vector<std::string>{"index of S0 uses loop 3 of 1"});
  Program written = p;
  written.statements[0].tensor = 1;
  EXPECT_EQ(spec(written), std::vector<std::string>{"S0 writes input x"});
}

} // namespace
} // namespace kawara::program
