// Helpers for tests that run the program as a user does: a tiny model, runs, and refusals.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/app/subprocess.h"
#include "tests/experiments/kinds/shared/tiny_model.h"

namespace reprise::app {

class CommandLine : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = std::filesystem::temp_directory_path() /
           fmt::format("reprise_cli_{}_{}", ::getpid(), info->name());
    experiments::write_tiny_model(dir_ / "model");
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  struct Outcome {
    int status;
    std::string out, err;
  };
  [[nodiscard]] Outcome reprise(std::vector<std::string> arguments,
                                const std::string& input = "") const {
    arguments.insert(arguments.begin(), REPRISE_PROGRAM);
    Subprocess process(arguments, dir_, input);
    const int status = process.wait();
    return {status, process.out(), process.err()};
  }
  // Expects that the command ends with status 1 and a message that contains each of `parts`.
  void expect_refused(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& parts) const {
    const Outcome outcome = reprise(arguments);
    EXPECT_EQ(outcome.status, 1) << fmt::format("{}", fmt::join(arguments, " ")) << ": "
                                 << outcome.err;
    for (const std::string& part : parts)
      EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " not in: " << outcome.err;
  }
  [[nodiscard]] std::string model() const { return (dir_ / "model").string(); }
  // A command on the tiny model with random weights, followed by further arguments.
  [[nodiscard]] std::vector<std::string> on_model(const std::string& command,
                                                  const std::vector<std::string>& more) const {
    std::vector<std::string> words = {command, "--model", model(), "--random-weights"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::filesystem::path dir_;
};

}  // namespace reprise::app
