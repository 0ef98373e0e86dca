// Tests the entry that a run's records share: it is written once and given back to each record. It
// is refused if it is missing or inconsistent, or if it would make a small file large.
#include "results/run_entry.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/error.h"
#include "results/results_file.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::results {
namespace {

std::vector<Json> split_lines(const std::string& text) {
  std::vector<Json> lines;
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
    lines.push_back(Json::parse(text.substr(begin, text.find('\n', begin) - begin)));
  return lines;
}

std::vector<Json> read_back(const std::string& text) {
  RunEntries runs;
  std::vector<Json> records;
  for (const Json& line : split_lines(text))
    if (RunEntries::is_entry(fields_of(line)))
      runs.add(fields_of(line), "f line");
    else
      records.push_back(json_of(runs.whole(fields_of(line), "f line")));
  return records;
}

template <typename Fn>
std::string message(Fn&& fn) {
  try {
    fn();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<Record> two_machines() {
  std::vector<Record> records;
  for (int i = 0; i < 4; ++i) records.push_back(sample_record("p" + std::to_string(i), "g", i, 4));
  records[2].machine.cpu = "another";
  return records;
}

TEST(RunEntry, IsWrittenOncePerRunAndGivenBackToEachRecord) {
  const std::vector<Record> records = two_machines();
  std::set<std::string> written;
  const std::string text = run_lines(records, written);
  EXPECT_EQ(written.size(), 2u);
  EXPECT_EQ(split_lines(text).size(), records.size() + 2);
  EXPECT_EQ(read_back(text), lines_of(records));
  const std::string more = run_lines(records, written);
  EXPECT_EQ(split_lines(more).size(), records.size());
  EXPECT_EQ(read_back(text + more).size(), 2 * records.size());
  for (const Json& line : split_lines(more)) EXPECT_FALSE(line.contains("machine"));
}

TEST(RunEntry, OlderRecordsAreThemselves) {
  Json old = sample_json("p", "g", 0, 1);
  old["schema"] = kOldestSchemaVersion;
  EXPECT_EQ(line_fault(old), "");
  EXPECT_EQ(read_back(old.dump() + "\n"), std::vector<Json>{old});
  old["schema"] = kSchemaVersion + 1;
  EXPECT_NE(line_fault(old).find("schema is not 1 to 2"), std::string::npos);
  old["schema"] = "2";
  EXPECT_NE(line_fault(old), "");
}

TEST(RunEntry, RecordWithoutItsEntryIsRefused) {
  std::set<std::string> written;
  const auto lines = split_lines(run_lines(two_machines(), written));
  RunEntries runs;
  const std::string text = message([&] { (void)runs.whole(fields_of(lines[1]), "f line 2"); });
  EXPECT_NE(text.find("f line 2 is of run"), std::string::npos) << text;
  EXPECT_NE(text.find("--fresh"), std::string::npos) << text;
}

TEST(RunEntry, EntriesThatAreUnsoundOrContradictOneAnotherAreRefused) {
  std::set<std::string> written;
  const Json good = split_lines(run_lines(two_machines(), written))[0];
  const auto refusal = [&](const Json& first, const Json& second) {
    RunEntries runs;
    return message([&] {
      runs.add(fields_of(first), "f line 1");
      runs.add(fields_of(second), "f line 2");
    });
  };
  EXPECT_EQ(refusal(good, good), "");
  Json other = good;
  other["machine"]["cpu"] = "another";
  EXPECT_NE(refusal(good, other).find("f line 2 says something else of run"), std::string::npos);
  for (const char* key : {"experiment", "config_hash", "machine", "provenance", "schema"}) {
    other = good;
    other.erase(key);
    EXPECT_NE(refusal(good, other).find(key), std::string::npos) << refusal(good, other);
  }
  other = good;
  other["machine"]["limits"] = {{"dram_read_gb_s", "fast"}};
  EXPECT_NE(refusal(good, other).find("machine.limits.dram_read_gb_s"), std::string::npos);
  other = good;
  other["run"] = 7;
  EXPECT_NE(refusal(good, other).find("\"run\" must be a text"), std::string::npos);
}

TEST(RunEntry, KeyThatRecordAndEntryBothHaveIsRefused) {
  std::set<std::string> written;
  auto lines = split_lines(run_lines(two_machines(), written));
  lines[1]["machine"] = {{"cpu", "a third"}};
  RunEntries runs;
  runs.add(fields_of(lines[0]), "f line 1");
  const std::string text = message([&] { (void)runs.whole(fields_of(lines[1]), "f line 2"); });
  EXPECT_NE(text.find("f line 2 has \"machine\""), std::string::npos) << text;
}

// A large entry that many small lines refer to must not use unbounded memory.
TEST(RunEntry, RecordsMayNotGrowWithoutBound) {
  std::set<std::string> written;
  std::vector<Record> records = {sample_record("p", "g", 0, 1)};
  records[0].provenance.flags = std::string(1000, 'x');
  const auto lines = split_lines(run_lines(records, written));
  RunEntries runs(/*most_added_bytes=*/120'000);
  runs.add(fields_of(lines[0]), "f line 1");
  for (int i = 0; i < 80; ++i) (void)runs.whole(fields_of(lines[1]), "f line");
  const std::string text = message([&] {
    for (int i = 0; i < 20; ++i) (void)runs.whole(fields_of(lines[1]), "f line");
  });
  EXPECT_NE(text.find("larger than the 120000 bytes"), std::string::npos) << text;
}

}  // namespace
}  // namespace reprise::results
