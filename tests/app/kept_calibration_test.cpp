// Tests the calibration that commands measure once and keep in the cache folder.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "core/base/json.h"
#include "tests/app/command_line.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;
using reprise::testing::EnvironmentVariable;

constexpr const char* kMeasured = "measured how far ahead to prefetch";

class KeptCalibration : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    cache_ = std::make_unique<EnvironmentVariable>("XDG_CACHE_HOME", dir_.string());
  }
  [[nodiscard]] Outcome generate(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command =
        on_model("generate", {"--ids", "1 2 3", "--max-new-tokens", "4", "--threads", "1"});
    command.insert(command.end(), more.begin(), more.end());
    const Outcome outcome = reprise(command);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome;
  }
  static bool has_measured(const Outcome& outcome) {
    return outcome.err.find(kMeasured) != std::string::npos;
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& file : fs::directory_iterator(dir_ / "reprise" / "calibration"))
      found.push_back(file.path());
    return found;
  }

  std::unique_ptr<EnvironmentVariable> cache_;
};

TEST_F(KeptCalibration, IsMeasuredOnceForTheseThreadsAndReadByEveryCommand) {
  const Outcome first = generate();
  EXPECT_TRUE(has_measured(first)) << first.err;
  ASSERT_EQ(files().size(), 1u);
  EXPECT_NE(first.err.find(files()[0].string()), std::string::npos) << first.err;
  const Outcome second = generate();
  EXPECT_FALSE(has_measured(second)) << second.err;
  EXPECT_EQ(second.out, first.out);
  EXPECT_FALSE(has_measured(reprise(
      on_model("logits", {"--ids", "1", "--out", (dir_ / "l").string(), "--threads", "1"}))));

  const Json kept = Json::parse(read_file(files()[0]));
  const Outcome probe = reprise({"probe", "--json", "--threads", "1"});
  EXPECT_FALSE(has_measured(probe)) << probe.err;
  EXPECT_EQ(Json::parse(probe.out)["fetch"], kept["fetch"]);

  EXPECT_TRUE(has_measured(generate({"--isa", "portable"})));
  EXPECT_EQ(files().size(), 2u);
  EXPECT_TRUE(has_measured(generate({"--fresh-calibration"})));
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(KeptCalibration, AFileThatIsDamagedOrOfAnotherMachineIsMeasuredAnew) {
  EXPECT_TRUE(has_measured(generate()));
  const fs::path file = files()[0];
  Json other = Json::parse(read_file(file)), malformed = other;
  other["of"]["cpu"] = "another";
  malformed["fetch"]["weights_bf16"]["chosen"] = "l7:1";
  for (const std::string& text : {std::string("{"), std::string("{}"), malformed.dump()}) {
    std::ofstream(file) << text;
    const Outcome outcome = generate();
    EXPECT_TRUE(has_measured(outcome));
    EXPECT_NE(outcome.err.find("measuring anew"), std::string::npos) << outcome.err;
    EXPECT_FALSE(has_measured(generate()));
  }
  std::ofstream(file) << other.dump();
  EXPECT_NE(generate().err.find("of another machine"), std::string::npos);
}

TEST_F(KeptCalibration, AFolderThatTakesNoFilesCostsTheTimeAgainAndSaysSo) {
  for (const char* folder : {"/dev/null", "relative"}) {
    const EnvironmentVariable nowhere("XDG_CACHE_HOME", folder);
    const Outcome outcome = generate();
    EXPECT_NE(outcome.err.find("Set XDG_CACHE_HOME"), std::string::npos) << outcome.err;
  }
  EXPECT_FALSE(fs::exists("relative"));
}

TEST_F(KeptCalibration, AFolderInThePlaceOfTheFileIsNamed) {
  EXPECT_TRUE(has_measured(generate()));
  const fs::path file = files()[0];
  fs::remove(file);
  fs::create_directories(file / "in_the_way");
  const Outcome outcome = generate();
  for (const std::string& part : {file.string() + " failed", std::string("Remove the folder")})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  for (const char* other : {"Set XDG_CACHE_HOME", "Choose a place"})
    EXPECT_EQ(outcome.err.find(other), std::string::npos) << outcome.err;
}

TEST_F(KeptCalibration, WhatTheEnvironmentDecidesIsNotKept) {
  const EnvironmentVariable keys("REPRISE_FETCH", "l2:4096:0"),
      weights("REPRISE_WEIGHT_FETCH", "l2:4096");
  EXPECT_FALSE(has_measured(generate()));
  EXPECT_FALSE(fs::exists(dir_ / "reprise"));
}

}  // namespace
}  // namespace reprise::app
