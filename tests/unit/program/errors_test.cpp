#include "unit/program/text_of.h"

namespace kawara::program {
namespace {

const std::string kErrorsHead = "param N\n"
                                "input A: f32[N, N], x: f32[N], n: i32[N]\n"
                                "output C: f32[N], L: i64[N]\n";

struct Case {
  const char* code;
  std::string text;
};

void expect_all(const std::vector<Case>& cases) {
  for (const Case& c : cases)
    EXPECT_EQ(codes_of(kErrorsHead + c.text), c.code) << c.text;
}

TEST(Errors, Text) {
  expect_all({{"K0101", "C[0] = 1; C[1] = 2\n"},
              {"K0101", "C[0] = select(x[0] > 0 && x[1] > 0, 1, 2)\n"},
              {"K0101", "C[0] = \xe2\x82\xac\n"},
              {"K0101", std::string("C[0] = \0 1\n", 11)},
              {"K0102", "for i in range(N):\n\tC[i] = 0\n\tC[i] = 1\n"},
              {"K0103", "  C[0] = 1\n"},
              {"K0103", "for i in range(N):\n    C[i] = 0\n      C[i] = 1\n"},
              {"K0104", "C[0] = 1e999\n"},
              {"K0104", "C[0] = 1.2.3\n"},
              {"K0104", "L[0] = 9223372036854775808\n"},
              {"K0104", "C[2000000000000] = 0\n"},
              {"K0104", "C[1000000000 * 1000000000 * 1000000000] = 0\n"},
              {"K0105", "C[0] = 1)\n"},
              {"K0105", "C[0] = (x[0]]\n"},
              {"K0105", "C[0] = (1 +\nfor i in range(N):\n    C[i] = 0\n"}});
}

TEST(Errors, Syntax) {
  expect_all({{"K0110", "C[0] =\n"},
              {"K0110", "C[0] = x[0] ** 2\n"},
              {"K0110", "C[0] /= 2\n"},
              {"K0110", "C[0] = x[0] x[1]\n"},
              {"K0110", "temp t\n"},
              {"K0110", "param 3\n"},
              {"K0111", "if N > 3\n    C[0] = 1\n"},
              {"K0112", "for i in range(N):\n"},
              {"K0113", "print(C)\n"},
              {"K0114", "else:\n    C[0] = 1\n"},
              {"K0115", "if N > 2:\n    param K\n"},
              {"K0116", "numerics loose\n"},
              {"K0117", "numerics fast\nnumerics fast\n"},
              {"K0123", "for range in range(N):\n    C[0] = 1\n"},
              {"K0144", "for i in N:\n    C[i] = 1\n"},
              {"K0144", "for i in range():\n    C[i] = 1\n"}});
}

TEST(Errors, Names) {
  expect_all({{"K0120", "temp N: f32\n"},
              {"K0121", "C[i] = y[i] + y[i]\n"},
              {"K0121", "C[i] = A[i, k]\n"},
              {"K0121", "out[i] = x[i]\n"},
              {"K0121", "assume K > 2\n"},
              {"K0121", "temp t: f32[K]\n"},
              {"K0122", "for x in range(N):\n    C[x] = 1\n"},
              {"K0122", "for i in range(N):\n    C[i] = sum(i, x[i])\n"},
              {"K0124", "temp t: f33\nt = 1\nC[i] = t\n"},
              {"K0125", "C[i] = foo(j, x[j])\n"},
              {"K0125", "C[i] = x(i)\n"},
              {"K0130", "C[i, j] = 0\n"},
              {"K0130", "C[i] = x\n"},
              {"K0131", "x[i] += 1\n"},
              {"K0132", "N = 3\n"},
              {"K0132", "C[i] = N[i]\n"}});
  EXPECT_EQ(codes_of(""), "K0133");
  EXPECT_EQ(codes_of("temp t: f32\nt = 1\n"), "K0133");
}

TEST(Errors, Affine) {
  expect_all({{"K0140", "for i in range(N):\n    C[i * i] = 0\n"},
              {"K0140", "for i in range(N * N):\n    C[i] = 0\n"},
              {"K0145", "C[i] = x[A[i, i]]\n"},
              {"K0140", "C[i] = x[i / 2]\n"},
              {"K0140", "C[i] = x[i > 2]\n"},
              {"K0140", "C[i] = x[1.5]\n"},
              {"K0140", "temp t: f32[N * N]\n"},
              {"K0141", "if x[0] > 0: C[0] = 1\n"},
              {"K0142", "C[i] = x[i // 0]\n"},
              {"K0142", "C[i] = x[i % -2]\n"},
              {"K0142", "C[i] = x[i % N]\n"},
              {"K0142", "C[i] = n[i] // 0\n"},
              {"K0143", "for i in range(0, N, N):\n    C[i] = 0\n"},
              {"K0162", "if N: C[0] = 1\n"}});
}

TEST(Errors, Reductions) {
  expect_all({{"K0150", "C[i] = sum(k, 1)\n"},
              {"K0150", "C[i] = max(M, 0)\n"},
              {"K0151", "temp w: f32[3]\nC[i] = sum(k, w[k] * x[k])\n"},
              {"K0151", "temp T: f32[N, 3]\nT[i, i] = 0\n"},
              {"K0152", "C[2 * i] = 0\n"},
              {"K0153", "C[i] = sum(x[i])\n"},
              {"K0153", "C[i] = sum(i + 1, x[i])\n"},
              {"K0153", "C[i] = argmax((j, k), A[j, k])\n"},
              {"K0153", "C[i] = (i, 2)\n"},
              {"K0154", "C[i] = max(k, 0, A[i, k])\n"},
              {"K0155", "C[i] = sum(k in range(i), sum(j, A[k, j]))\n"},
              {"K0121", "C[i] = sum(k, y[k])\n"}});
}

TEST(Errors, Types) {
  expect_all({{"K0160", "C[i] = 1 / 2\n"},
              {"K0160", "C[i] = i / N\n"},
              {"K0161", "L[i] = 0.5\n"},
              {"K0161", "L[i] = sum(k, x[k])\n"},
              {"K0162", "C[i] = select(n[i], 1, 2)\n"},
              {"K0162", "C[i] = not x[i]\n"},
              {"K0163", "C[i] = select(x[i] > 0, 1)\n"},
              {"K0163", "C[i] = f32()\n"},
              {"K0163", "C[i] = max(x[i])\n"},
              {"K0163", "C[i] = min(1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,x[i])\n"},
              {"K0164", "C[i] = x[i] % 2\n"}});
}

TEST(Errors, SeveralAreReportedInTheOrderOfTheText) {
  EXPECT_EQ(codes_of(kErrorsHead + "for i in range(N)\n"
                                   "    C[i] = y\n"
                                   "    C[i] = x[i, 0]\n"
                                   "C[0] = $\n"
                                   "C[0] = 1 / 2\n"),
            "K0111 K0121 K0130 K0101 K0160");
}

TEST(Errors, OneMistakeIsOneError) {
  expect_all({// A name that is not declared, used again and again.
              {"K0121", "temp t: f32[K]\nt[i] = 1\nC[i] = t[i] + K\nC[i] = sum(k, t[k])\n"},
              // A header that is not understood; its loop is known below.
              {"K0144", "for i in rnge(N):\n    C[i] = x[i]\n"},
              {"K0123", "for for in range(N):\n    C[i + 2] = x[i]\n"},
              {"K0118", "while true:\n    C[q + 1] = 2\n    D[1] = 2\n"},
              {"K0105", "C[0] = max(x[0], 1\nC[i] = 2\nC[i] = 3\n"}});
}

TEST(Errors, AfterTwentyOnlyTheNumberIsTold) {
  std::string text = kErrorsHead;
  for (int i = 0; i < 5000; ++i)
    text += "C[0] = 1 / 2\n";
  const auto result = parse(make_source("t.kw", text));
  ASSERT_FALSE(bool(result));
  ASSERT_EQ(result.error().size(), 21u);
  EXPECT_EQ(result.error().back().headline, "and 4980 more errors");
}

TEST(Errors, DeepAndLargeTextsAreRefused) {
  const auto repeated = [](const std::string& part, int n) {
    std::string text;
    for (int i = 0; i < n; ++i)
      text += part;
    return text;
  };
  std::string blocks;
  for (int i = 0; i < 70; ++i)
    blocks += std::string(size_t(i), ' ') + "if N > 1:\n";
  blocks += std::string(70, ' ') + "C[0] = 1\n";
  expect_all({{"K0106", "C[0] = " + repeated("(", 100000) + "1" + repeated(")", 100000) + "\n"},
              {"K0106", "C[0] = " + repeated("-", 100000) + "1\n"},
              {"K0106", "C[0] = 1" + repeated(" + x[0]", 100000) + "\n"},
              {"K0106", "C[0] = select(" + repeated("not ", 100000) + "true, 1, 2)\n"},
              {"K0106", blocks},
              {"K0106", repeated("if N > 1: ", 1000) + "C[0] = 1\n"},
              {"K0107", "temp t: f32[" + repeated("1, ", 40) + "1]\n"},
              {"K0107", "C[0] = select(0 < " + repeated("x[0] < ", 30) + "1, 1, 2)\n"}});
}

} // namespace
} // namespace kawara::program
