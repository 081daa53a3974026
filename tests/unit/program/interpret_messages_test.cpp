#include "program/interpret/interpret.h"
#include "unit/program/text_of.h"

namespace kawara::program {
namespace {

using scalar::Elem;

/// The whole message of a run that must fail.
std::string message(const std::string& text, const std::vector<int64_t>& params, Arrays in) {
  const auto result = interpret(parsed(text), params, std::move(in));
  return result ? "no error" : render(result.error());
}

Arrays with(const std::string& name, Elem elem, std::vector<int64_t> shape) {
  Arrays arrays;
  arrays[name] = Array(elem, std::move(shape));
  return arrays;
}

const std::string kDouble = "param N\n"
                            "input x: f32[N]\n"
                            "output y: f32[N]\n"
                            "y[i] = 2 * x[i]\n";

TEST(Messages, MissingArray) {
  EXPECT_EQ(message(kDouble, {4}, {}), "error[K0401]: no array was given for `x`\n"
                                       "\n"
                                       "  t.kw:2:7\n"
                                       "   1 | param N\n"
                                       "   2 | input x: f32[N]\n"
                                       "     |       ^ has the role input\n"
                                       "   3 | output y: f32[N]\n"
                                       "\n"
                                       "  It needs f32[4].\n"
                                       "\n"
                                       "  help: give one:  --input x=x.npy\n");
}

TEST(Messages, OtherShape) {
  EXPECT_EQ(message(kDouble, {4}, with("x", Elem::F32, {5})),
            "error[K0402]: the array for `x` has the shape [5], not [4]\n"
            "\n"
            "  t.kw:2:7\n"
            "   1 | param N\n"
            "   2 | input x: f32[N]\n"
            "     |       ^\n"
            "   3 | output y: f32[N]\n"
            "\n"
            "  The declared shape is [4] at N = 4.\n"
            "\n"
            "  help: give an array of the type f32[4], or other parameters\n");
}

TEST(Messages, OtherElementType) {
  EXPECT_EQ(message(kDouble, {4}, with("x", Elem::F64, {4})),
            "error[K0403]: the array for `x` holds f64, not f32\n"
            "\n"
            "  t.kw:2:7\n"
            "   1 | param N\n"
            "   2 | input x: f32[N]\n"
            "     |       ^\n"
            "   3 | output y: f32[N]\n"
            "\n"
            "  Found f64[4], needed f32[4]. Arrays are not converted silently.\n"
            "\n"
            "  help: convert it in NumPy:       x.astype(np.float32)\n"
            "  help: or declare the tensor as:  x: f64[N]\n");
}

TEST(Messages, NegativeParameter) {
  EXPECT_EQ(message(kDouble, {-1}, {}), "error[K0404]: parameter `N` cannot be -1\n"
                                        "\n"
                                        "  t.kw:1:7\n"
                                        "   1 | param N\n"
                                        "     |       ^\n"
                                        "   2 | input x: f32[N]\n"
                                        "\n"
                                        "  A parameter is a size: zero or more.\n"
                                        "\n"
                                        "  help: give a size:  -p N=8\n");
}

TEST(Messages, ImpossibleShape) {
  EXPECT_EQ(message("param N\n"
                    "input x: f32[N]\n"
                    "output y: f32[N - 2]\n"
                    "y[i] = x[i]\n",
                    {1}, {}),
            "error[K0406]: tensor `y` cannot have the shape [-1]\n"
            "\n"
            "  t.kw:3:8\n"
            "   2 | input x: f32[N]\n"
            "   3 | output y: f32[N - 2]\n"
            "     |        ^\n"
            "   4 | y[i] = x[i]\n"
            "\n"
            "  That is its shape at N = 1; no dimension may be negative.\n"
            "\n"
            "  help: choose other sizes, or state in the program which sizes are meant:  "
            "assume N - 2 >= 0\n");
}

TEST(Messages, OutsideATensor) {
  EXPECT_EQ(message("param N\n"
                    "input x: f32[N]\n"
                    "output y: f32[N]\n"
                    "for i in range(N):\n"
                    "    y[i] = x[i + 1]\n",
                    {4}, with("x", Elem::F32, {4})),
            "error[K0410]: read of `x[4]` outside of `x`\n"
            "\n"
            "  t.kw:5:5\n"
            "   4 | for i in range(N):\n"
            "   5 |     y[i] = x[i + 1]\n"
            "     |     ^^^^^^^^^^^^^^^ S0 at (i=3)\n"
            "\n"
            "  `x` has the shape [4] at N = 4; indices start at 0.\n"
            "\n"
            "  help: narrow the loop's range, guard the statement with an `if`, or enlarge the "
            "tensor\n");
}

TEST(Messages, WriteOutsideATensor) {
  const std::string text = message("param N\n"
                                   "output y: f32[N, N]\n"
                                   "for i in range(N):\n"
                                   "    for j in range(i, N + 1):\n"
                                   "        y[j, i] = 1\n",
                                   {3}, {});
  EXPECT_NE(text.find("write to `y[3, 0]` outside of `y`"), std::string::npos) << text;
  EXPECT_NE(text.find("S0 at (i=0, j=3)"), std::string::npos) << text;
}

TEST(Messages, TempWithoutAValue) {
  EXPECT_EQ(message("param N\n"
                    "input x: f32[N]\n"
                    "temp t: f32[N]\n"
                    "output y: f32[N]\n"
                    "for i in range(N):\n"
                    "    t[i] += x[i]\n",
                    {2}, with("x", Elem::F32, {2})),
            "error[K0411]: read of `t[0]` before any write to it\n"
            "\n"
            "  t.kw:6:5\n"
            "   5 | for i in range(N):\n"
            "   6 |     t[i] += x[i]\n"
            "     |     ^^^^^^^^^^^^ S0 at (i=0)\n"
            "\n"
            "  `t` is a temp, and no statement wrote that element up to here.\n"
            "\n"
            "  help: write it first:  t[0] = 0\n");
}

TEST(Messages, SelectSkipsWhatItDoesNotTake) {
  // The guard of docs/errors/K0412.md works; without it the division fails at the zero.
  const std::string head = "param N\n"
                           "input x: i32[N]\n"
                           "output y: i32[N]\n"
                           "for i in range(N):\n";
  const Arrays zero = with("x", Elem::I32, {1});
  EXPECT_EQ(message(head + "    y[i] = select(x[i] != 0, 100, 7)\n", {1}, zero), "no error");
}

} // namespace
} // namespace kawara::program
