// Tests how errors about missing models and data name the command that fetches them.
#include "results/catalogue.h"

#include <gtest/gtest.h>

#include <set>

#include "core/model/config/config.h"

namespace reprise::results {
namespace {

TEST(Catalogue, HasNoNameAndNoPlaceTwice) {
  std::set<std::string> names, paths;
  for (const CatalogueEntry& entry : catalogue()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_TRUE(paths.insert(entry.path).second) << entry.path;
  }
  EXPECT_TRUE(names.contains("llama-2-7b"));
}

TEST(Catalogue, CountsTheParametersOfTheShapes) {
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.shape.empty()) continue;
    EXPECT_EQ(entry.parameters, model::load_config(entry.shape).parameters()) << entry.name;
  }
}

TEST(Catalogue, FindsEntriesByWhatExperimentsName) {
  EXPECT_EQ(how_to_fetch("checkpoints/llama-2-7b"), "Fetch it: reprise data get llama-2-7b");
  EXPECT_EQ(how_to_fetch("sts/stsb/"), "Fetch it: reprise data get stsb");
  EXPECT_EQ(how_to_fetch("LongBench/data"), "Fetch it: reprise data get longbench");
  EXPECT_EQ(how_to_fetch("sts/sts15/images.test.tsv"), "Fetch it: reprise data get sts15");
  EXPECT_EQ(how_to_fetch("all-MiniLM-L6-v2"),
            "Fetch it: reprise data get all-MiniLM-L6-v2, or: ./setup.sh --models");
  for (const char* unknown : {"", "llama-2-7b", "sts", "mmlu2", "/data/mmlu", "models/quickstart"})
    EXPECT_EQ(how_to_fetch(unknown), "") << unknown;
}

}  // namespace
}  // namespace reprise::results
