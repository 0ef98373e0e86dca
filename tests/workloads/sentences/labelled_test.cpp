// Labelled sentences in both their forms.
#include "workloads/sentences/labelled.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/data.h"

namespace reprise::workloads::sentences {
namespace {

using model::expect_error;
using model::TempDir;

TEST(LoadLabelled, ASentenceAndItsLabelWithOrWithoutAHeading) {
  const TempDir dir;
  for (const char* text :
       {"Good \"x\", it is.  \t1\nBad\t0\n", "sentence\tlabel\nGood \"x\", it is.\t1\nBad\t0",
        "label\tidx\tsentence\n1\t7\tGood \"x\", it is.\n0\t8\tBad\r\n"}) {
    const auto texts = load_labelled(dir.write("a.tsv", text));
    ASSERT_EQ(texts.size(), 2u);
    EXPECT_EQ(texts[0].text, "Good \"x\", it is.");
    EXPECT_TRUE(texts[0].is_positive);
    EXPECT_EQ(texts[1].text, "Bad");
    EXPECT_FALSE(texts[1].is_positive);
  }
}

TEST(LoadLabelled, WhatIsWrongIsNamedWithItsLine) {
  const TempDir dir;
  const auto refused = [&](const char* text, std::initializer_list<std::string> parts) {
    expect_error([&] { (void)load_labelled(dir.write("a.tsv", text)); }, parts);
  };
  refused("a\t1\nb\n", {"a.tsv:2", "1 columns"});
  refused("a\t1\nb\t2\n", {"a.tsv:2", "\"2\""});
  refused("a\t1\n \t0\n", {"a.tsv:2", "empty"});
  refused("a\t1\nb\t1\n", {"all 2 labels are one"});
}

TEST(LoadLabelled, TheSentimentFilesAreHalfPositive) {
  REPRISE_NEEDS_DATA();
  for (const char* name : {"amazon_cells", "imdb", "yelp"}) {
    const auto texts = load_labelled(testing::data_dir() / "datasets" / "sentiment" /
                                     (std::string(name) + "_labelled.txt"));
    EXPECT_EQ(texts.size(), 1000u) << name;
    int64_t positive = 0;
    for (const LabelledText& text : texts) positive += text.is_positive ? 1 : 0;
    EXPECT_EQ(positive, 500) << name;
  }
}

}  // namespace
}  // namespace reprise::workloads::sentences
