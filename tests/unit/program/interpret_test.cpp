#include "program/interpret/interpret.h"

#include <gtest/gtest.h>

namespace kawara::program {
namespace {

using scalar::BinaryOp;
using scalar::Elem;
using scalar::int_lit;
using scalar::iter;
using scalar::param;
using scalar::Type;

/// Programs put together by hand, so that these tests do not depend on the text front end.
class Builder {
public:
  Expr size(const std::string& name) {
    program_.params.push_back({name, {}});
    return param(static_cast<uint32_t>(program_.params.size() - 1));
  }
  uint32_t tensor(const std::string& name, Role role, Elem elem, std::vector<Expr> shape) {
    Tensor t;
    t.name = name;
    t.role = role;
    t.elem = elem;
    t.shape = std::move(shape);
    program_.tensors.push_back(std::move(t));
    return static_cast<uint32_t>(program_.tensors.size() - 1);
  }
  Expr read(uint32_t tensor, std::vector<Expr> index) const {
    const Elem elem = program_.tensors[tensor].elem;
    return scalar::cast(scalar::load(tensor, std::move(index), {elem, 1}),
                        {scalar::compute_type(elem), 1});
  }
  BodyNode statement(std::vector<std::string> iters, uint32_t tensor, std::vector<Expr> index,
                     Expr value, ReduceOp op = ReduceOp::None) {
    Statement s;
    s.name = "S" + std::to_string(program_.statements.size());
    s.iters = std::move(iters);
    s.tensor = tensor;
    s.index = std::move(index);
    s.value = std::move(value);
    s.op = op;
    program_.statements.push_back(std::move(s));
    return StatementRef{static_cast<uint32_t>(program_.statements.size() - 1)};
  }
  static BodyNode loop(const std::string& name, Expr lo, Expr hi, Body body, int64_t step = 1) {
    Loop l;
    l.name = name;
    l.lo = std::move(lo);
    l.hi = std::move(hi);
    l.step = step;
    l.body = std::move(body);
    return l;
  }
  void assume(Expr condition) { program_.assumptions.push_back(std::move(condition)); }
  Program done(Body body) {
    program_.body = std::move(body);
    return program_;
  }

private:
  Program program_;
};

Expr f32(double v) { return scalar::float_lit(v, {Elem::F32, 1}); }

Array array_of(Elem elem, std::vector<int64_t> shape, const std::vector<double>& values) {
  Array a(elem, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i)
    a.set_double(static_cast<int64_t>(i), values[i]);
  return a;
}

std::vector<double> elements(const Array& a) {
  std::vector<double> values;
  for (int64_t i = 0; i < a.elements(); ++i)
    values.push_back(a.get_double(i));
  return values;
}

/// y[i] = x[i + shift] for i in 0..N.
Program copy_program(int64_t shift, Role role = Role::Input) {
  Builder b;
  const Expr N = b.size("N");
  const uint32_t x = b.tensor("x", role, Elem::F32, {N});
  const uint32_t y = b.tensor("y", Role::Output, Elem::F32, {N});
  const BodyNode s = b.statement({"i"}, y, {iter(0)}, b.read(x, {iter(0) + int_lit(shift)}));
  return b.done({Builder::loop("i", int_lit(0), N, {s})});
}

std::string error_of(const Program& p, const std::vector<int64_t>& params, Arrays inputs) {
  const auto result = interpret(p, params, std::move(inputs));
  return result ? "no error" : render(result.error());
}

TEST(Interpret, MatrixProduct) {
  Builder b;
  const Expr M = b.size("M"), N = b.size("N"), K = b.size("K");
  const uint32_t A = b.tensor("A", Role::Input, Elem::F32, {M, K});
  const uint32_t B = b.tensor("B", Role::Input, Elem::F32, {K, N});
  const uint32_t C = b.tensor("C", Role::Output, Elem::F32, {M, N});
  const Expr i = iter(0), j = iter(1), k = iter(2), zero = int_lit(0);
  const BodyNode init = b.statement({"i", "j"}, C, {i, j}, f32(0));
  const BodyNode update =
      b.statement({"i", "j", "k"}, C, {i, j}, b.read(A, {i, k}) * b.read(B, {k, j}), ReduceOp::Sum);
  const Program p = b.done({Builder::loop(
      "i", zero, M, {Builder::loop("j", zero, N, {init, Builder::loop("k", zero, K, {update})})})});
  Arrays in;
  in["A"] = array_of(Elem::F32, {2, 3}, {1, 2, 3, 4, 5, 6});
  in["B"] = array_of(Elem::F32, {3, 2}, {7, 8, 9, 10, 11, 12});
  const auto out = interpret(p, {2, 2, 3}, in);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->size(), 1U);
  EXPECT_EQ(elements(out->at("C")), (std::vector<double>{58, 64, 139, 154}));
}

TEST(Interpret, RunsInSourceOrder) {
  // Descending with step -2: the last write to the only element is by the smallest i.
  Builder b;
  const Expr N = b.size("N");
  const uint32_t y = b.tensor("y", Role::Output, Elem::I64, {});
  const uint32_t n = b.tensor("n", Role::Output, Elem::I64, {});
  const BodyNode s = b.statement({"i"}, y, {}, iter(0));
  const BodyNode count = b.statement({"i"}, n, {}, int_lit(1), ReduceOp::Sum);
  const Program p = b.done({Builder::loop("i", N, int_lit(0), {s, count}, -2)});
  const auto out = interpret(p, {7}, {});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->at("y").get(0).i, 1);
  EXPECT_EQ(out->at("n").get(0).i, 4);
}

TEST(Interpret, ConditionsChooseABranch) {
  Builder b;
  const Expr N = b.size("N");
  const uint32_t y = b.tensor("y", Role::Output, Elem::F32, {N});
  If branch;
  branch.cond = scalar::binary(BinaryOp::Lt, iter(0), int_lit(2));
  branch.then = {b.statement({"i"}, y, {iter(0)}, f32(1))};
  branch.otherwise = {b.statement({"i"}, y, {iter(0)}, f32(2))};
  const Program p = b.done({Builder::loop("i", int_lit(0), N, {branch})});
  const auto out = interpret(p, {4}, {});
  ASSERT_TRUE(out);
  EXPECT_EQ(elements(out->at("y")), (std::vector<double>{1, 1, 2, 2}));
}

TEST(Interpret, StoresRoundAndWrap) {
  Builder b;
  const uint32_t h = b.tensor("h", Role::Inout, Elem::F16, {});
  const uint32_t u = b.tensor("u", Role::Inout, Elem::U8, {});
  const BodyNode add = b.statement({}, h, {}, f32(1), ReduceOp::Sum);
  const BodyNode wrap = b.statement({}, u, {}, int_lit(10, {Elem::I32, 1}), ReduceOp::Sum);
  const Program p = b.done({add, wrap});
  Arrays in;
  in["h"] = array_of(Elem::F16, {}, {2048});
  in["u"] = array_of(Elem::U8, {}, {250});
  const auto out = interpret(p, {}, in);
  ASSERT_TRUE(out);
  EXPECT_EQ(elements(out->at("h")), (std::vector<double>{2048})) << "2049 is a tie in f16";
  EXPECT_EQ(elements(out->at("u")), (std::vector<double>{4}));
}

TEST(Interpret, UnwrittenOutputsAreZero) {
  Builder b;
  b.tensor("y", Role::Output, Elem::F64, {int_lit(3)});
  const auto out = interpret(b.done({}), {}, {});
  ASSERT_TRUE(out);
  EXPECT_EQ(elements(out->at("y")), (std::vector<double>{0, 0, 0}));
}

TEST(Interpret, RefusesReadsAndWritesOutside) {
  Arrays in;
  in["x"] = Array(Elem::F32, {4});
  EXPECT_EQ(error_of(copy_program(1), {4}, in),
            "error[K0410]: read of `x[4]` outside of `x`\n"
            "\n"
            "  `x` has the shape [4] at N = 4; indices start at 0.\n"
            "\n"
            "  help: narrow the loop's range, guard the statement with an `if`, or enlarge the "
            "tensor\n");
  EXPECT_NE(error_of(copy_program(-1), {4}, in).find("read of `x[-1]`"), std::string::npos);
  const auto wrong = interpret(copy_program(1), {4}, in);
  EXPECT_EQ(wrong.error().label, "S0 at (i=3)");
}

TEST(Interpret, RefusesATempWithoutAValue) {
  const auto wrong = interpret(copy_program(0, Role::Temp), {4}, {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "K0411");
  EXPECT_EQ(wrong.error().label, "S0 at (i=0)");
  EXPECT_EQ(wrong.error().headline, "read of `x[0]` before any write to it");
}

TEST(Interpret, RefusesAnUpdateOfATempWithoutAValue) {
  Builder b;
  const uint32_t t = b.tensor("t", Role::Temp, Elem::F32, {});
  const auto wrong = interpret(b.done({b.statement({}, t, {}, f32(1), ReduceOp::Sum)}), {}, {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "K0411");
  EXPECT_EQ(wrong.error().label, "S0");
}

TEST(Interpret, RefusesDivisionByZero) {
  Builder b;
  const uint32_t x = b.tensor("x", Role::Input, Elem::I32, {});
  const uint32_t y = b.tensor("y", Role::Output, Elem::I32, {});
  const Expr one = int_lit(1, {Elem::I32, 1});
  const Program p =
      b.done({b.statement({}, y, {}, scalar::binary(BinaryOp::FloorDiv, one, b.read(x, {})))});
  Arrays in;
  in["x"] = Array(Elem::I32, {});
  EXPECT_NE(error_of(p, {}, in).find("K0412"), std::string::npos);
  in["x"].set_double(0, 1);
  EXPECT_EQ(error_of(p, {}, in), "no error");
}

TEST(Arguments, AreChecked) {
  const Program p = copy_program(0);
  const auto code = [&](const std::vector<int64_t>& params, Arrays in) {
    const auto r = interpret(p, params, std::move(in));
    return r ? "" : r.error().code;
  };
  Arrays good, extra, wide, other;
  good["x"] = Array(Elem::F32, {4});
  extra = good;
  extra["z"] = Array(Elem::F32, {4});
  wide["x"] = Array(Elem::F32, {5});
  other["x"] = Array(Elem::F64, {4});
  EXPECT_EQ(code({4}, good), "");
  EXPECT_EQ(code({4}, {}), "K0401");
  EXPECT_EQ(code({4}, wide), "K0402");
  EXPECT_EQ(code({4}, other), "K0403");
  EXPECT_EQ(code({-1}, good), "K0404");
  EXPECT_EQ(code({int64_t{1} << 50}, good), "K0406");
  EXPECT_EQ(code({4}, extra), "K0407");
  Arrays deep; // known before any size is
  deep["x"] = Array(Elem::F32, {2, 2});
  EXPECT_TRUE(check_names(p, wide));
  const auto checked = check_names(p, deep);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().headline, "the array for `x` has 2 dimensions, not 1");
}

TEST(Arguments, AssumptionsMustHold) {
  Builder b;
  const Expr N = b.size("N");
  b.tensor("y", Role::Output, Elem::F32, {N - int_lit(2)});
  b.assume(scalar::binary(BinaryOp::Ge, N, int_lit(4)));
  const Program p = b.done({});
  EXPECT_TRUE(interpret(p, {4}, {}));
  EXPECT_EQ(error_of(p, {2}, {}),
            "error[K0405]: the program assumes `N >= 4`, which does not hold\n"
            "\n"
            "  It was asked to run with N = 2.\n"
            "\n"
            "  help: choose sizes for which N >= 4, or drop the line:  assume N >= 4\n");
}

TEST(Arguments, ShapesFollowTheParameters) {
  Builder b;
  const Expr N = b.size("N");
  b.tensor("x", Role::Input, Elem::F32, {N, N * int_lit(2) + int_lit(1)});
  b.tensor("y", Role::Output, Elem::F32, {N - int_lit(2)});
  const Program p = b.done({});
  const auto shapes = required_shapes(p, {3});
  ASSERT_TRUE(shapes);
  EXPECT_EQ((*shapes)[0], (std::vector<int64_t>{3, 7}));
  EXPECT_EQ((*shapes)[1], (std::vector<int64_t>{1}));
  EXPECT_EQ(required_shapes(p, {1}).error().code, "K0406");
  EXPECT_TRUE(required_shapes(p, {2})) << "an empty tensor is fine";
}

} // namespace
} // namespace kawara::program
