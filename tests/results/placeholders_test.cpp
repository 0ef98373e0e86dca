#include "results/placeholders.h"

#include <gtest/gtest.h>

namespace reprise::results {
namespace {

TEST(ValuesText, NamesEachValueOnce) {
  EXPECT_EQ(values_text({}), "-");
  EXPECT_EQ(values_text({8}), "8");
  EXPECT_EQ(values_text({32, 8, 32}), "8 and 32");
  EXPECT_EQ(values_text({8, 64, 16}), "8 to 64");
  EXPECT_EQ(values_text({"c", "a", "c", "b"}), "c, a and b");
}

TEST(ValuesText, NamesModelsByAsManyPartsAsDistinguishThem) {
  EXPECT_EQ(values_text({"runs/a/final"}), "final");
  EXPECT_EQ(values_text({"runs/a/final/", "llama"}), "final and llama");
  EXPECT_EQ(values_text({"runs/a/final", "runs/b/final"}), "a/final and b/final");
  EXPECT_EQ(values_text({"final", "/x/final", "y/semifinal"}), "final, x/final and semifinal");
}

}  // namespace
}  // namespace reprise::results
