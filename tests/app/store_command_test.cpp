// Tests the store command on folders that a store has written, and the units of its options.
#include "app/store_command.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "app/exit_status.h"
#include "app/unit_option.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/store/segment_store.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/store/segment_testing.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;
using kv::content_of;
using kv::write_content;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class StoreCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    kv::SegmentStore plain({.directory = folder_.path()});
    plain.put(first_, kv::finite_segment_of(1), 0.5);
    kv::SegmentStore packed({.directory = folder_.path(), .form = kv::SegmentForm::kInt8});
    packed.put(second_, kv::finite_segment_of(2));
    fs::last_write_time(path_of(first_),
                        fs::file_time_type::clock::now() - std::chrono::hours(100));
  }
  [[nodiscard]] fs::path path_of(const kv::SegmentKey& key) const {
    return folder_.path() / kv::file_name_of(key);
  }
  [[nodiscard]] StoreAnswer run(StoreCommand command) const {
    if (command.folder.empty()) command.folder = folder_.path().string();
    return run_store(command, now_ns());
  }
  [[nodiscard]] Json run_json(StoreCommand command) const {
    command.is_json = true;
    return parse_json(run(command).out, "output");
  }
  void expect_refused(const StoreCommand& command, const std::vector<std::string>& parts) const {
    try {
      (void)run(command);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      for (const std::string& part : parts) EXPECT_TRUE(holds(error.what(), part)) << error.what();
    }
  }
  void damage(const kv::SegmentKey& key) const {
    std::string content = content_of(path_of(key));
    content.back() = static_cast<char>(content.back() ^ 1);
    write_content(path_of(key), content);
  }

  model::TempDir folder_;
  kv::SegmentKey first_ = {{.model = "llama", .tokenizer = "t", .schema = "travel", .dtype = "f32"},
                           "paris"};
  kv::SegmentKey second_ = {{.model = "falcon", .schema = "code"}, "unit.py\xff\x1b"};
};

TEST_F(StoreCommandTest, ListShowsWhatThereIs) {
  const std::string text = run({.action = "list"}).out;
  for (const char* part : {"module", "paris", "llama", "travel", "plain", "falcon", "int8", "4 d",
                           "2 segments", "KiB", "unit.py\\xff"})
    EXPECT_TRUE(holds(text, part)) << part << " not in\n" << text;
  EXPECT_LT(text.find("paris"), text.find("falcon")) << "longest unused first";

  const Json json = run_json({.action = "list"});
  ASSERT_EQ(json["segments"].size(), 2u);
  const Json& one = json["segments"][0];
  EXPECT_EQ(one["file"], kv::file_name_of(first_));
  EXPECT_EQ(one["module"], "paris");
  EXPECT_EQ(one["model"], "llama");
  EXPECT_EQ(one["tokenizer"], "t");
  EXPECT_EQ(one["schema"], "travel");
  EXPECT_EQ(one["compute_dtype"], "f32");
  EXPECT_EQ(one["tokens"], kv::kSmallSegment.tokens);
  EXPECT_EQ(one["dtype"], "f32");
  EXPECT_EQ(one["form"], "plain");
  EXPECT_EQ(one["cost_s"], 0.5);
  EXPECT_EQ(one["bytes"], fs::file_size(path_of(first_)));
  EXPECT_GE(one["unused_s"], 100 * 3600 - 1);
  EXPECT_LT(one["age_s"], 3600);
  EXPECT_EQ(json["segments"][1]["form"], "int8");
  EXPECT_EQ(json["bytes"], fs::file_size(path_of(first_)) + fs::file_size(path_of(second_)));
  EXPECT_TRUE(json["damaged"].empty());
}

TEST_F(StoreCommandTest, ListKnowsFilters) {
  EXPECT_EQ(run_json({.action = "list", .model = "falcon"})["segments"].size(), 1u);
  EXPECT_EQ(run_json({.action = "list", .schema = "travel"})["segments"].size(), 1u);
  EXPECT_EQ(run_json({.action = "list", .model = "falcon", .schema = "travel"})["segments"].size(),
            0u);
}

TEST_F(StoreCommandTest, VerifyNamesDamagedFiles) {
  const StoreAnswer sound = run({.action = "verify"});
  EXPECT_EQ(sound.status, 0);
  EXPECT_TRUE(holds(sound.out, "sound: 2 segments")) << sound.out;
  damage(second_);
  const StoreAnswer damaged = run({.action = "verify"});
  EXPECT_EQ(damaged.status, kDamagedStatus);
  EXPECT_TRUE(holds(damaged.out, path_of(second_).string())) << damaged.out;
  EXPECT_TRUE(holds(damaged.out, "layer 1")) << damaged.out;
  EXPECT_TRUE(holds(damaged.out, "damaged: 1")) << damaged.out;
  const Json json = run_json({.action = "verify"});
  EXPECT_EQ(json["sound"], 1);
  EXPECT_EQ(json["damaged"].size(), 1u);
  // A sound file under another file's name counts as damaged too.
  fs::rename(path_of(first_), folder_.path() / kv::file_name_of("other"));
  EXPECT_EQ(run_json({.action = "verify"})["damaged"].size(), 2u);
}

TEST_F(StoreCommandTest, AStoreWhoseWriterWasKilledEarlyIsEmptyNotForeign) {
  const model::TempDir early;
  write_content(early.path() / "store.lock", "");
  const StoreAnswer answer = run({.action = "verify", .folder = early.path().string()});
  EXPECT_EQ(answer.status, 0);
  EXPECT_TRUE(holds(answer.out, "sound: 0 segments")) << answer.out;
}

TEST_F(StoreCommandTest, VerifyNamesADamagedStoreFile) {
  write_content(folder_.path() / "store.json", "{");
  const StoreAnswer answer = run({.action = "verify"});
  EXPECT_EQ(answer.status, kDamagedStatus);
  EXPECT_TRUE(holds(answer.out, "store.json")) << answer.out;
  EXPECT_TRUE(holds(answer.out, "sound: 2 segments")) << answer.out;
}

TEST_F(StoreCommandTest, GcSaysWhatGoes) {
  const StoreAnswer dry = run({.action = "gc", .unused_s = 3600, .is_dry_run = true});
  EXPECT_TRUE(holds(dry.out, "would remove " + path_of(first_).string())) << dry.out;
  EXPECT_TRUE(fs::exists(path_of(first_)));
  const StoreAnswer done = run({.action = "gc", .unused_s = 3600});
  EXPECT_TRUE(holds(done.out, "removed " + path_of(first_).string())) << done.out;
  EXPECT_FALSE(fs::exists(path_of(first_)));
  damage(second_);
  EXPECT_EQ(run_json({.action = "gc"})["removed"].size(), 0u);
  const Json json = run_json({.action = "gc", .removes_damaged = true});
  EXPECT_EQ(json["removed"].at(0)["reason"], "damaged");
  EXPECT_EQ(json["kept_segments"], 0);
  EXPECT_TRUE(holds(run({.action = "list"}).out, "0 segments"));
}

TEST_F(StoreCommandTest, RefusesWrongUse) {
  expect_refused({.action = "lst"}, {"lst", "did you mean \"list\""});
  expect_refused({.action = "list", .budget_bytes = 1}, {"store list", "--budget", "gc"});
  expect_refused({.action = "verify", .unused_s = 1}, {"--older-than"});
  expect_refused({.action = "verify", .model = "m"}, {"--model"});
  expect_refused({.action = "list", .is_dry_run = true}, {"--dry-run"});
  expect_refused({.action = "list", .removes_damaged = true}, {"--damaged"});
}

TEST_F(StoreCommandTest, RefusesFoldersThatAreNoStore) {
  const model::TempDir other;
  write_content(other.path() / "notes.txt", "mine");
  for (const char* action : {"list", "verify", "gc"}) {
    expect_refused({.action = action, .folder = other.path().string()},
                   {other.path().string(), "no segment store"});
    expect_refused({.action = action, .folder = "/no/such/folder"}, {"/no/such/folder"});
  }
  write_content(folder_.path() / "store.json", "{\"format\":9}");
  for (const char* action : {"list", "verify", "gc"})
    expect_refused({.action = action}, {folder_.path().string(), "newer version", "9"});
}

TEST_F(StoreCommandTest, IsASubcommand) {
  const auto parse = [](const std::string& line) {
    CLI::App app("reprise");
    add_store_command(app);
    app.parse(line);
  };
  EXPECT_THROW(parse("store"), CLI::ParseError);
  EXPECT_THROW(parse("store list"), CLI::ParseError);
  EXPECT_THROW(parse("store list /nowhere"), Error);
  EXPECT_THROW(parse("store gc /nowhere --budget many"), Error);
  const std::string folder = folder_.path().string();
  parse("store gc " + folder + " --budget 1GiB --older-than 50h --model llama --json");
  EXPECT_FALSE(fs::exists(path_of(first_)));
  EXPECT_TRUE(fs::exists(path_of(second_)));
  parse("store verify " + folder);
  damage(second_);
  try {
    parse("store verify " + folder);
    FAIL();
  } catch (const ExitStatus& exit) {
    EXPECT_EQ(exit.status, kDamagedStatus);
  }
}

TEST(UnitOption, ReadsBytes) {
  for (const auto& [text, bytes] :
       std::vector<std::pair<std::string, int64_t>>{{"0", 0},
                                                    {"1500", 1500},
                                                    {"12B", 12},
                                                    {"10 MB", 10'000'000},
                                                    {"1.5GiB", 1'610'612'736},
                                                    {"2kib", 2048},
                                                    {"3TB", 3'000'000'000'000}})
    EXPECT_EQ(parse_bytes(text, "--size"), bytes) << text;
  for (const char* text :
       {"", "GB", "-1", "1e9", "nan", "inf", "1 GG", "1GB2", "1,5GB", "9999999TiB", "0x10"})
    EXPECT_THROW((void)parse_bytes(text, "--size"), Error) << text;
}

TEST(UnitOption, ReadsSpansOfTime) {
  EXPECT_EQ(parse_seconds("90s", "--age"), 90);
  EXPECT_EQ(parse_seconds("15 min", "--age"), 900);
  EXPECT_EQ(parse_seconds("1.5h", "--age"), 5400);
  EXPECT_EQ(parse_seconds("30d", "--age"), 30 * 86400);
  for (const char* text : {"", "30", "d", "-1d", "5m", "1 week"})
    EXPECT_THROW((void)parse_seconds(text, "--age"), Error) << text;
}

TEST(UnitOption, ShowsWhatCanBeRead) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(int64_t{5} << 40), "5.00 TiB");
  EXPECT_EQ(bytes_text(int64_t{5} << 50), "5120.00 TiB");
  EXPECT_EQ(span_text(59), "59 s");
  EXPECT_EQ(span_text(61), "1 min");
  EXPECT_EQ(span_text(86400), "24 h");
  EXPECT_EQ(span_text(3 * 86400), "3 d");
}

}  // namespace
}  // namespace reprise::app
