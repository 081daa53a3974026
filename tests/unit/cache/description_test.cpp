#include "cache/description.h"

#include <gtest/gtest.h>

namespace kawara::cache {
namespace {

TEST(Description, ReadsAllFields) {
  const auto d = description_from_text("48K,128,12,fifo,through,around", 2);
  ASSERT_TRUE(d) << render(d.error());
  EXPECT_EQ(d->name, "L2");
  EXPECT_EQ(d->bytes, 48 << 10);
  EXPECT_EQ(d->line_bytes, 128);
  EXPECT_EQ(d->sets(), 32);
  EXPECT_EQ(d->policy, Policy::Fifo);
  EXPECT_FALSE(d->writes_back);
  EXPECT_FALSE(d->allocates);
}

TEST(Description, TakesOneSetAndThePolicyThatIsGiven) {
  const auto d = description_from_text("1M", 1, Policy::Fifo);
  ASSERT_TRUE(d);
  EXPECT_EQ(d->sets(), 1);
  EXPECT_EQ(d->policy, Policy::Fifo);
  EXPECT_EQ(print(*d), "1 MiB, one set, fifo, lines of 64 bytes");
}

TEST(Description, RefusesWhatFitsNoCache) {
  for (const char* text : {"", "x", "32K,0", "32K,48", "100,64", "32K,64,7", "32K,64,8,random",
                           "32K,64,128,plru", "32K,64,full,plru", "99999999999999G", "-32K"})
    EXPECT_FALSE(description_from_text(text, 1)) << text;
}

TEST(Description, RefusesLinesThatShrink) {
  const auto first = description_from_text("32K,128,8", 1),
             second = description_from_text("1M,64,8", 2);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(check({*first, *second}));
  EXPECT_TRUE(check({*second, *first}));
}

} // namespace
} // namespace kawara::cache
