// Tests models by name: those that come with the program, and those that were fetched.
#include "experiments/kinds/shared/places.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/environment.h"

namespace reprise::experiments {
namespace {

using model::expect_error;
using reprise::testing::EnvironmentVariable;

// XDG_CACHE_HOME is a folder of its own, and REPRISE_DATA is not set, for as long as the test runs.
class FetchedModels : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(models()); }
  [[nodiscard]] std::filesystem::path models() const {
    return cache_.path() / "reprise" / "models";
  }
  // Makes the folder of the model `name`, with `file` alone in it.
  void make(const std::string& name, const std::string& file) const {
    std::filesystem::create_directories(models() / name);
    cache_.write("reprise/models/" + name + "/" + file, "{}");
  }

  model::TempDir cache_;
  EnvironmentVariable variable_{"XDG_CACHE_HOME", cache_.path()};
  EnvironmentVariable no_data_{"REPRISE_DATA", ""};
};

TEST_F(FetchedModels, AreFoundByTheirFoldersNames) {
  EXPECT_EQ(fetched_models_dir(), models());
  make("tiny-bert", "config.json");
  make("tiny-sentences", "modules.json");
  make("fetching.x1", "half.whl");
  EXPECT_EQ(resolve_model("tiny-bert"), (models() / "tiny-bert").string());
  EXPECT_EQ(resolve_model("tiny-sentences"), (models() / "tiny-sentences").string());
  expect_error([] { (void)resolve_model("tiny-brt"); }, {"did you mean \"tiny-bert\""});
  expect_error([] { (void)resolve_model("fetching.x1"); }, {"no folder fetching.x1"});
  EXPECT_TRUE(resolve_model("quickstart").ends_with("models/quickstart"));
}

TEST_F(FetchedModels, OneThatSetupFetchesSaysSo) {
  expect_error([] { (void)resolve_model("all-MiniLM-L6-v2"); }, {"./setup.sh --models"});
  make("all-MiniLM-L6-v2", "modules.json");
  EXPECT_EQ(resolve_model("all-MiniLM-L6-v2"), (models() / "all-MiniLM-L6-v2").string());
}

TEST_F(FetchedModels, DataAndCheckpointsAreFoundByTheirNamesInBothDataFolders) {
  const model::TempDir named;
  const EnvironmentVariable data("REPRISE_DATA", named.path());
  std::filesystem::create_directories(cache_.path() / "reprise" / "sts" / "stsb");
  std::filesystem::create_directories(cache_.path() / "reprise" / "mmlu");
  std::filesystem::create_directories(named.path() / "mmlu");
  std::filesystem::create_directories(named.path() / "checkpoints" / "llama-2-7b");
  std::filesystem::create_directories(named.path() / "models" / "tiny");
  named.write("models/tiny/config.json", "{}");
  EXPECT_EQ(resolve_path("sts/stsb"), (cache_.path() / "reprise" / "sts" / "stsb").string());
  EXPECT_EQ(resolve_path("mmlu"), (named.path() / "mmlu").string());
  EXPECT_EQ(resolve_model("checkpoints/llama-2-7b"),
            (named.path() / "checkpoints" / "llama-2-7b").string());
  EXPECT_EQ(resolve_model("tiny"), (named.path() / "models" / "tiny").string());
}

TEST_F(FetchedModels, WhatCanBeFetchedSaysHow) {
  expect_error([] { (void)resolve_path("LongBench/data"); },
               {"LongBench/data is not here", "Fetch it: reprise data get longbench"});
  expect_error([] { (void)resolve_model("checkpoints/llama-2-13b"); },
               {"checkpoints/llama-2-13b is not here", "reprise data get llama-2-13b"});
  expect_error([] { (void)resolve_model("checkpoints/lama-2-13b"); },
               {"did you mean \"checkpoints/llama-2-13b\""});
  EXPECT_EQ(resolve_path("my/own.csv"), "my/own.csv");
  expect_error([] { (void)existing_path("my/own.csv"); }, {"no file or folder my/own.csv"});
  EXPECT_EQ(existing_path(""), "");
}

TEST_F(FetchedModels, WithoutACacheThereAreNone) {
  std::filesystem::remove_all(cache_.path() / "reprise");
  expect_error([] { (void)resolve_model("tiny-bert"); }, {"no folder tiny-bert"});
}

}  // namespace
}  // namespace reprise::experiments
