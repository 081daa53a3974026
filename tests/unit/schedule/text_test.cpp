#include "unit/schedule/programs.h"

#include "schedule/text/diff.h"
#include "schedule/text/draw.h"

namespace kawara::schedule {
namespace {

std::string canonical(const std::string& text) { return print(directives(text)); }

std::string errors(const std::string& text) {
  const auto parsed = parse_directives(make_source("s", text));
  std::string codes;
  if (!parsed)
    for (const Diagnostic& d : parsed.error())
      codes += d.code + ": " + d.headline + "\n";
  return codes;
}

LoopName loop_name_of_split(const std::string& text) {
  return std::get<Split>(directives(text).at(0)).loop;
}

TEST(Parse, every_directive_prints_as_it_was_written) {
  for (const char* text : {"split(i, 32)",
                           "tile(i=64, j=64)",
                           "interchange(i, j)",
                           "reorder(i.0, j.0, k, i.1, j.1)",
                           "skew(i, by=t, factor=1)",
                           "shift(S1.i, 2)",
                           "reverse(i)",
                           "coalesce(i, j)",
                           "fuse(S0.i, S1.i)",
                           "distribute(i)",
                           "cut(i, -8)",
                           "isolate(i.1)",
                           "compute_at(S0, S1.i)",
                           "inline(S0)",
                           "unroll(j)",
                           "unroll(j, 4)",
                           "unroll_and_jam(i, 4)",
                           "vectorize(j)",
                           "vectorize(j, 8)",
                           "parallel(i)",
                           "rfactor(k.0)",
                           "tensorize(S1.j.1, neon.sdot)",
                           "online(S1.k.0, S3.j.0, S5.j.0)",
                           "auto",
                           "[reverse(i); [reverse(i)]]"})
    EXPECT_EQ(canonical(text), text);
}

TEST(Parse, other_spellings_print_canonically) {
  EXPECT_EQ(canonical("tile(i, 32)"), "tile(i=32)");
  EXPECT_EQ(canonical("skew(i, by=t)"), "skew(i, by=t, factor=1)");
  EXPECT_EQ(canonical("split(size=4, loop=i)  # why\n\n parallel( i.0 )\n"),
            "split(i, 4); parallel(i.0)");
}

TEST(Parse, statement_qualifies_only_with_a_number) {
  EXPECT_EQ((loop_name_of_split("split(S1.i.0, 2)")), (LoopName{"S1", "i.0"}));
  EXPECT_EQ((loop_name_of_split("split(Sx.0, 2)")), (LoopName{std::nullopt, "Sx.0"}));
  EXPECT_EQ((loop_name_of_split("split(S1.0, 2)")), (LoopName{std::nullopt, "S1.0"}));
}

TEST(Parse, reports_all_errors_at_once) {
  EXPECT_EQ(errors("splt(i, 2); split(i); parallel(3)\n) ; split(i, 99999999999999999999)"),
            "K0230: there is no directive `splt`\n"
            "K0232: wrong arguments of `split`: the `size` is missing\n"
            "K0232: wrong arguments of `parallel`: expected a loop, the `loop`\n"
            "K0231: did not expect `)` in a list of directives\n"
            "K0234: number `99999999999999999999` is out of range\n");
  EXPECT_EQ(errors("[[[[[[[[[auto]]]]]]]]]"), "K0233: groups are nested deeper than 8\n");
  EXPECT_EQ(errors("[auto"), "K0231: a group has no end\n");
}

TEST(Parse, offers_what_was_meant) {
  const auto parsed = parse_directives(make_source("s", "interchang(i, j)"));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(render(parsed.error()), "error[K0230]: there is no directive `interchang`\n\n"
                                    "  s:1:1\n"
                                    "   1 | interchang(i, j)\n"
                                    "     | ^^^^^^^^^^\n\n"
                                    "  help: did you mean:  interchange(a, b)\n");
}

TEST(Listing, replays) {
  const auto made = apply(initial(kAdd), directives("tile(i=8, j=8)"), test_environment());
  ASSERT_TRUE(made);
  EXPECT_EQ(listing(*made), "tile(i=8, j=8)\n\n"
                            "# for i.0:\n"
                            "#   for j.0:\n"
                            "#     for i.1:  # isolated\n"
                            "#       for j.1:  # isolated\n"
                            "#         S0\n");
  EXPECT_EQ(directives(listing(*made)), made->applied);
}

TEST(Hash, follows_program_and_directives) {
  EXPECT_EQ(hash_of(initial(kAdd)), hash_of(initial(kAdd)));
  EXPECT_NE(hash_of(initial(kAdd)), hash_of(initial(kGemm)));
  const auto made = apply(initial(kAdd), directives("reverse(i)"), test_environment());
  ASSERT_TRUE(made);
  EXPECT_NE(hash_of(*made), hash_of(initial(kAdd)));
}

TEST(Draw, shows_loops_statements_and_marks) {
  const auto made = apply(initial(kGemm), directives("parallel(i)"), test_environment());
  ASSERT_TRUE(made);
  EXPECT_EQ(draw_text(made->scop, made->order), "└─ for i  parallel\n"
                                                "   └─ for j\n"
                                                "      ├─ S0  C[i, j] = 0.0\n"
                                                "      └─ for k\n"
                                                "         └─ S1  C[i, j] += A[i, k] * B[k, j]\n");
  const std::string svg = draw_svg(made->scop, made->order);
  EXPECT_EQ(svg.rfind("<svg xmlns=", 0), 0U);
  EXPECT_NE(svg.find(">for i</text>"), std::string::npos);
  EXPECT_NE(svg.find(">parallel</text>"), std::string::npos);
}

TEST(Diff, compares_directives_and_loops) {
  const auto a = apply(initial(kAdd), directives("interchange(i, j)"), test_environment());
  const auto b =
      apply(initial(kAdd), directives("interchange(i, j); split(i, 4)"), test_environment());
  ASSERT_TRUE(a && b);
  EXPECT_EQ(diff(*a, *b), "  interchange(i, j)\n"
                          "+ split(i, 4)\n\n"
                          "for j:     for j:\n"
                          "  for i: <\n"
                          "    S0   <\n"
                          "         >   for i.0:\n"
                          "         >     for i.1:\n"
                          "         >       S0\n");
}

} // namespace
} // namespace kawara::schedule
