// How `reprise check` ends: statuses that scripts read, and errors that say what to do.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/app/subprocess.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

class CheckCommand : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(dir_); }
  void TearDown() override { fs::remove_all(dir_); }

  void expect_refused(std::vector<std::string> arguments,
                      const std::vector<std::string>& parts) const {
    arguments.insert(arguments.begin(), {REPRISE_PROGRAM, "check"});
    Subprocess process(arguments, dir_);
    EXPECT_EQ(process.wait(), 2) << process.err();
    for (const std::string& part : parts)
      EXPECT_NE(process.err().find(part), std::string::npos)
          << part << " not in: " << process.err();
  }

  fs::path dir_ = fs::temp_directory_path() / fmt::format("reprise_check_{}", ::getpid());
};

TEST_F(CheckCommand, ErrorsEndWithTwoAndNameTheRemedy) {
  const std::string bad = (dir_ / "bad.json").string();
  std::ofstream(bad) << R"({"schema": 1})";
  expect_refused({"--agianst", "x"}, {"--agianst"});
  expect_refused({REPRISE_SAMPLE}, {"--against BASELINE", "--record FILE"});
  expect_refused({REPRISE_SAMPLE, "--against", REPRISE_SAMPLE, "--budget", "-1"}, {"--budget"});
  expect_refused({REPRISE_SAMPLE, "--against", REPRISE_SAMPLE, "--margin", "300"}, {"--margin"});
  expect_refused({"/nowhere/bin", "--against", REPRISE_SAMPLE}, {"/nowhere/bin", "bin folder"});
  expect_refused({REPRISE_SAMPLE, "--against", bad}, {bad, "no baseline"});
  expect_refused({REPRISE_SAMPLE, "--against", REPRISE_SAMPLE, "--filter", "Nothing"},
                 {"--filter Nothing", "check_sample/Memory"});
  expect_refused({REPRISE_SAMPLE, "--against", REPRISE_PROGRAM}, {"status 1"});
}

}  // namespace
}  // namespace reprise::app
