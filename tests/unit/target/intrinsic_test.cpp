#include "target/intrinsic.h"

#include <gtest/gtest.h>

#include <set>

namespace kawara::target {
namespace {

TEST(Intrinsics, have_names_of_their_own) {
  std::set<std::string_view> names;
  for (const Intrinsic& one : intrinsics()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_EQ(find_intrinsic(one.name), &one);
  }
  EXPECT_EQ(find_intrinsic("neon.sdott"), nullptr);
}

TEST(Intrinsics, are_there_when_all_features_are) {
  const auto available = [](const char* cpu, const char* name) {
    return is_available(*find_intrinsic(name), *named_cpu(cpu));
  };
  EXPECT_TRUE(available("neoverse-n1", "neon.sdot"));
  EXPECT_FALSE(available("neoverse-n1", "neon.smmla"));
  EXPECT_TRUE(available("neoverse-v1", "neon.smmla"));
  EXPECT_FALSE(available("generic-aarch64", "neon.sdot"));
  EXPECT_FALSE(available("haswell", "neon.fmla"));
  EXPECT_TRUE(available("haswell", "avx2.vpmaddwd"));
  EXPECT_FALSE(available("haswell", "avx512.vpdpbusd"));
  EXPECT_TRUE(available("znver4", "avx512.vpdpbusd"));
  EXPECT_FALSE(available("znver4", "amx.tdpbssd"));
  EXPECT_TRUE(available("sapphirerapids", "amx.tdpbssd"));
  EXPECT_TRUE(available("sapphirerapids", "avx512.fmadd_f16"));
  EXPECT_FALSE(available("znver4", "avx512.fmadd_f16"));
  EXPECT_FALSE(available("neoverse-v1", "wgmma.m64n64k16.bf16"));
  EXPECT_TRUE(is_available(*find_intrinsic("wgmma.m64n64k16.bf16"), *named_gpu("sm_90a")));
  EXPECT_FALSE(is_available(*find_intrinsic("wgmma.m64n64k16.bf16"), *named_gpu("sm_80")));
  EXPECT_FALSE(is_available(*find_intrinsic("neon.fmla"), *named_gpu("sm_90a")));
}

} // namespace
} // namespace kawara::target
