// Tests labelled sentences in both their forms.
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

TEST(LoadLabelledSets, AFolderIsTheFilesThatItsNamesTell) {
  const TempDir dir;
  const char* text = "sentence\tlabel\ngood\t1\nbad\t0\n";
  dir.write("train.tsv", text);
  dir.write("dev.tsv", text);
  dir.write("test.tsv", "index\tsentence\n0\tgood\n");  // GLUE's, without labels
  dir.write("readme.txt", "none");
  const auto sets = load_labelled_sets(dir.path());
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].name, (dir.path().filename() / "dev.tsv").string());
  EXPECT_EQ(sets[1].texts.size(), 2u);
  EXPECT_EQ(load_labelled_sets(dir.path() / "train.tsv").size(), 1u);
  const TempDir plain;
  plain.write("yelp_labelled.txt", "good\t1\nbad\t0\n");
  EXPECT_EQ(load_labelled_sets(plain.path()).size(), 1u);
  const TempDir empty;
  expect_error([&] { (void)load_labelled_sets(empty.path()); }, {"no labelled sentences"});
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
  EXPECT_EQ(load_labelled_sets(testing::data_dir() / "datasets" / "sentiment").size(), 3u);
}

}  // namespace
}  // namespace reprise::workloads::sentences
