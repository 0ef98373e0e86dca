#include "checks/baseline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/base/error.h"
#include "tests/results/packed_file.h"
#include "tests/support/json.h"

namespace reprise::checks {
namespace {

namespace fs = std::filesystem;

class BaselineTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(dir_); }
  void TearDown() override { fs::remove_all(dir_); }

  static Baseline sample() {
    return {.entries = {{.program = "read_bench",
                         .name = "Read/8",
                         .limit = Limit::kL3Read,
                         .times_s = {0.002, 0.003},
                         .limits = {100, 110},
                         .limit_shares = {0.5, 0.25}}},
            .machine = {{"cpu", "x"}},
            .provenance = {{"revision", "y"}},
            .settings = {{"filter", ""}}};
  }
  void expect_refused(const Json& json, const std::vector<std::string>& parts) const {
    const fs::path file = dir_ / "changed.json";
    std::ofstream(file) << json.dump();
    try {
      (void)read_baseline(file);
      ADD_FAILURE() << "taken: " << json.dump();
    } catch (const Error& error) {
      for (const std::string& part : parts)
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
            << part << " not in: " << error.what();
    }
  }

  fs::path dir_ = fs::temp_directory_path() / fmt::format("reprise_baseline_{}", ::getpid());
};

TEST_F(BaselineTest, ComesBackAsItWasWritten) {
  const fs::path file = dir_ / "new_folder" / "sample.json";
  write_baseline(sample(), file);
  const Baseline read = read_baseline(file);
  EXPECT_EQ(baseline_json(read), baseline_json(sample()));
  EXPECT_EQ(read.entries[0].limit, Limit::kL3Read);
  EXPECT_FALSE(fs::exists(file.string() + ".part"));
}

TEST_F(BaselineTest, IsReadPacked) {
  const fs::path file = dir_ / "sample.json.gz";
  const std::string bytes = results::gzip_bytes(json_text(baseline_json(sample())));
  results::write_bytes(file, bytes);
  EXPECT_EQ(baseline_json(read_baseline(file)), baseline_json(sample()));
  results::write_bytes(file, bytes.substr(0, bytes.size() - 3));
  EXPECT_THROW((void)read_baseline(file), Error);
}

TEST_F(BaselineTest, OfProgramsWhoseNamesAreNoTextIsWritten) {
  Baseline baseline = sample();
  baseline.entries[0].program = "a\xff_bench";
  write_baseline(baseline, dir_ / "sample.json");
  EXPECT_TRUE(read_baseline(dir_ / "sample.json").entries[0].program.ends_with("_bench"));
}

TEST_F(BaselineTest, WhatIsWrongIsNamed) {
  const Json good = baseline_json(sample());
  expect_refused(Json::array(), {"must be a JSON object"});
  expect_refused({{"context", 1}}, {"no baseline", "--record"});
  const auto changed = [&](const Json::json_pointer& at, const Json& value) {
    Json json = good;
    json[at] = value;
    return json;
  };
  using Pointer = Json::json_pointer;
  expect_refused(changed(Pointer("/schema"), 99), {"schema 99", "schema 1", "--record"});
  expect_refused(changed(Pointer("/benchmarks"), Json::array()), {"at least one"});
  expect_refused(changed(Pointer("/benchmarks/0/limit"), "l3_read"), {"l3_read_gb_s"});
  expect_refused(changed(Pointer("/benchmarks/0/limit_shares"), {0.5}), {"differ in length"});
  expect_refused(changed(Pointer("/benchmarks/0/limit_shares/1"), 0), {"limit_shares", "above 0"});
  expect_refused(changed(Pointer("/benchmarks/0/times_s"), Json::array()), {"times_s"});
  expect_refused(changed(Pointer("/benchmarks/0/nme"), "x"), {"nme"});
  expect_refused(changed(Pointer("/machine"), 3), {"machine"});
  const Json& entry = good["benchmarks"][0];
  expect_refused(changed(Pointer("/benchmarks"), {entry, entry}),
                 {"changed.json", "read_bench/Read/8 twice"});
}

TEST_F(BaselineTest, AFolderThatCannotBeWrittenIsNamed) {
  std::ofstream(dir_ / "file") << "x";
  EXPECT_THROW(write_baseline(sample(), dir_ / "file" / "sample.json"), Error);
}

}  // namespace
}  // namespace reprise::checks
