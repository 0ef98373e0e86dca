// Tests the store after kills, with torn lines, foreign settings, two writers and damaged files.
#include "results/store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <regex>
#include <set>

#include "core/base/error.h"
#include "results/folder.h"
#include "results/identity.h"
#include "tests/results/packed_file.h"
#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::results {
namespace {

namespace fs = std::filesystem;

// A store whose manifest is given as JSON.
class TestStore : public RecordStore {
 public:
  TestStore(const fs::path& dir, const Json& manifest, bool fresh, const std::string& writer = "",
            bool mix = false)
      : RecordStore(dir, read_manifest(value_of(manifest), "a manifest"), fresh, writer, mix) {}
};

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::temp_directory_path() / fmt::format("reprise_store_{}_{}", ::getpid(), info->name());
    fs::remove_all(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  static Json manifest(int threads = 2) {
    return {{"config_hash", threads == 2 ? "00000000000000aa" : "bb"},
            {"settings", {{"threads", threads}}}};
  }
  // A group of the points NAME-0 to NAME-(`of` - 1).
  static std::vector<Record> group(const std::string& name, int of) {
    std::vector<std::string> points;
    for (int i = 0; i < of; ++i) points.push_back(name + "-" + std::to_string(i));
    std::vector<Record> records;
    for (int i = 0; i < of; ++i)
      records.push_back(sample_record(points[static_cast<size_t>(i)], group_id(points), i, of));
    return records;
  }
  void add_bytes(const std::string& bytes) const {
    std::ofstream(dir_ / "records.jsonl", std::ios::app | std::ios::binary) << bytes;
  }
  std::string message(const Json& with, bool fresh = false) const {
    try {
      TestStore store(dir_, with, fresh);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  fs::path dir_;
};

TEST_F(StoreTest, ReadsBackWhatItWrote) {
  {
    TestStore store(dir_, manifest(), false);
    store.append(group("g0", 2));
    store.append(group("g1", 1));
  }
  TestStore store(dir_, manifest(), false);
  EXPECT_EQ(store.records().size(), 3u);
  EXPECT_TRUE(store.has("g0-1"));
  EXPECT_TRUE(store.has("g1-0"));
  EXPECT_FALSE(store.has("g2-0"));
  EXPECT_EQ(store.dropped_bytes(), 0);
  EXPECT_EQ(read_records(dir_).size(), 3u);
}

TEST_F(StoreTest, AMetricThatNoRecordHoldsIsAnErrorThatNamesIt) {
  TestStore store(dir_, manifest(), false);
  for (const double value : {1e19, -1e19, HUGE_VAL}) {
    std::vector<Record> records = group("g0", 2);
    records[1].metrics.at("ttft_ms").value = value;
    try {
      store.append(records);
      FAIL() << value;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("metric ttft_ms"), std::string::npos)
          << error.what();
    }
  }
  EXPECT_EQ(fs::file_size(dir_ / "records.jsonl"), 0u);
}

TEST_F(StoreTest, EveryPossibleTornTailIsCutBackToWholeGroups) {
  {
    TestStore store(dir_, manifest(), false);
    store.append(group("g0", 2));
  }
  const std::string whole = read_file(dir_ / "records.jsonl");
  std::string next;
  for (const Record& record : group("g1", 2)) next += line_of(record).dump() + "\n";
  for (size_t cut = 1; cut < next.size(); cut += 7) {
    fs::resize_file(dir_ / "records.jsonl", whole.size());
    add_bytes(next.substr(0, cut));
    EXPECT_EQ(read_records(dir_).size(), 2u);
    TestStore store(dir_, manifest(), false);
    ASSERT_EQ(store.records().size(), 2u) << "cut at " << cut;
    EXPECT_EQ(store.dropped_bytes(), static_cast<int64_t>(cut));
    EXPECT_EQ(fs::file_size(dir_ / "records.jsonl"), whole.size());
  }
}

TEST_F(StoreTest, GoesOnAfterATornTail) {
  {
    TestStore store(dir_, manifest(), false);
    store.append(group("g0", 1));
  }
  add_bytes(R"({"schema": 1, "experi)");
  {
    TestStore store(dir_, manifest(), false);
    store.append(group("g1", 1));
  }
  EXPECT_EQ(read_records(dir_).size(), 2u);
}

TEST_F(StoreTest, LastLineOfZerosIsATornTail) {
  {
    TestStore store(dir_, manifest(), false);
    store.append(group("g0", 1));
  }
  add_bytes(std::string(100, '\0') + "\n");
  EXPECT_EQ(TestStore(dir_, manifest(), false).records().size(), 1u);
}

// Leaves the file as if a run was killed within its first write: the run's entry is whole, but its
// first group is not.
TEST_F(StoreTest, EntryOfARunIsCutOffWithItsTornGroupAndWrittenAgain) {
  {
    TestStore store(dir_, manifest(), false);
    store.append(group("g0", 2));
  }
  const std::string whole = read_file(dir_ / "records.jsonl");
  for (size_t cut = 1; cut < whole.size(); cut += 11) {
    write_bytes(dir_ / "records.jsonl", whole.substr(0, cut));
    TestStore store(dir_, manifest(), false);
    EXPECT_TRUE(store.records().empty());
    EXPECT_EQ(fs::file_size(dir_ / "records.jsonl"), 0u);
    store.append(group("g0", 2));
    EXPECT_EQ(lines_of(read_records(dir_)), lines_of(store.records()));
  }
}

TEST_F(StoreTest, RunThatGoesOnWritesItsEntryNoSecondTime) {
  for (const char* id : {"g0", "g1", "g2"}) {
    TestStore store(dir_, manifest(), false);
    store.append(group(id, 2));
  }
  const std::string text = read_file(dir_ / "records.jsonl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 3 * 2);
  ASSERT_EQ(read_records(dir_).size(), 6u);
  for (const Record& record : read_records(dir_)) EXPECT_EQ(record.machine.cpu, "made up");
}

// An older program, with schema one, began the folder.
TEST_F(StoreTest, GoesOnAfterWholeRecordsOfSchemaOne) {
  { TestStore store(dir_, manifest(), false); }
  std::vector<Json> old = lines_of(group("g0", 2));
  for (Json& record : old) {
    record["schema"] = kOldestSchemaVersion;
    add_bytes(record.dump() + "\n");
  }
  TestStore store(dir_, manifest(), false);
  EXPECT_EQ(lines_of(store.records()), old);
  store.append(group("g1", 1));
  EXPECT_EQ(lines_of(read_records(dir_)), lines_of(store.records()));
  EXPECT_EQ(read_records(dir_).size(), 3u);
}

TEST_F(StoreTest, RecordsOfAShardWithoutTheirPlanAreNamed) {
  {
    TestStore store(dir_, manifest(), false, "2of2");
    store.append(group("g0", 1));
  }
  fs::remove(dir_ / "run.json");
  try {
    (void)read_folder(dir_);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("Copy the run.json"), std::string::npos) << text;
    EXPECT_NE(text.find((dir_ / "records-2of2.jsonl").string()), std::string::npos) << text;
  }
}

TEST_F(StoreTest, AFolderOfSkippedPointsAloneNamesThem) {
  Json with = manifest();
  with["metrics"] = {"ttft_ms"};
  TestStore store(dir_, with, false);
  const auto refusal = [&] {
    try {
      (void)read_folder(dir_);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal().find("finish its run first"), std::string::npos) << refusal();
  store.write_skipped({{.point = "p", .label = "a batch=8", .reason = "needs 52 GiB"}});
  EXPECT_NE(refusal().find("skipped 1 of its points (a batch=8: needs 52 GiB)"), std::string::npos)
      << refusal();
}

TEST_F(StoreTest, ARunDoesNotGoOnBesideShardsWithoutTheirPlan) {
  const auto refusal = [&](const std::string& writer) -> std::string {
    try {
      TestStore store(dir_, manifest(), false, writer);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  {
    TestStore store(dir_, manifest(), false, "2of2");
    store.append(group("g0", 1));
  }
  fs::remove(dir_ / "run.json");
  EXPECT_NE(refusal("").find("has records-2of2.jsonl but no run.json"), std::string::npos)
      << refusal("");
  EXPECT_NE(refusal("").find("--fresh"), std::string::npos);
  for (const char* writer : {"1of2", "2of2"})
    EXPECT_NE(refusal(writer).find("move them out of the folder"), std::string::npos)
        << refusal(writer);
  EXPECT_FALSE(fs::exists(dir_ / "run.json"));
  { TestStore store(dir_, manifest(), /*fresh=*/true); }
  EXPECT_FALSE(fs::exists(dir_ / "records-2of2.jsonl"));
}

TEST_F(StoreTest, RecordsOfOtherSettingsAreRefusedWithTheirFile) {
  {
    TestStore store(dir_, manifest(2), false, "1of2");
    store.append(group("g0", 1));
  }
  std::vector<Record> others = group("g1", 1);
  others[0].config_hash = "00000000000000bb";
  const fs::path copied = dir_ / "records-copied.jsonl";
  std::ofstream(copied) << line_of(others[0]).dump() << "\n";
  const std::string opened = message(manifest(2));
  EXPECT_NE(opened.find(copied.string()), std::string::npos) << opened;
  try {
    (void)read_record_files(record_files(dir_), "00000000000000aa");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), opened);
  }
  fs::remove(copied);
  EXPECT_EQ(message(manifest(2)), "");
}

TEST_F(StoreTest, PointsSwappedByHandAreAnErrorThatNamesTheLine) {
  { TestStore store(dir_, manifest(), false); }
  std::vector<Json> swapped = lines_of(group("g0", 2));
  std::swap(swapped[0]["point"], swapped[1]["point"]);
  for (const Json& record : swapped) add_bytes(record.dump() + "\n");
  EXPECT_NE(message(manifest()).find("records.jsonl line 2 ends group"), std::string::npos)
      << message(manifest());
  EXPECT_NE(message(manifest()).find("--fresh"), std::string::npos);
  EXPECT_THROW((void)read_records(dir_), Error);
}

TEST_F(StoreTest, PackedRecordsAreReadAndARunGoesOnBesideThem) {
  {
    TestStore store(dir_, manifest(), false);
    store.append(group("g0", 2));
  }
  const fs::path packed = dir_ / "records.jsonl.gz";
  write_bytes(packed, gzip_bytes(read_file(dir_ / "records.jsonl")));
  fs::remove(dir_ / "records.jsonl");
  EXPECT_EQ(read_records(dir_).size(), 2u);
  const std::string bytes = read_file(packed);
  {
    TestStore store(dir_, manifest(), false);
    EXPECT_TRUE(store.has("g0-1"));
    store.append(group("g1", 1));
    store.refresh();
    EXPECT_EQ(store.records().size(), 3u);
  }
  EXPECT_EQ(read_file(packed), bytes);
  EXPECT_EQ(read_records(dir_).size(), 3u);
  EXPECT_EQ(TestStore(dir_, manifest(), false).records().size(), 3u);
  EXPECT_NE(message(manifest(4)).find("threads 4, was 2"), std::string::npos);
  { TestStore store(dir_, manifest(), /*fresh=*/true); }
  EXPECT_FALSE(fs::exists(packed)) << "it was not set aside";
}

TEST_F(StoreTest, DamagedPackedRecordsAreAnErrorThatNamesThem) {
  {
    TestStore store(dir_, manifest(), false);
    store.append(group("g0", 2));
  }
  const std::string bytes = gzip_bytes(read_file(dir_ / "records.jsonl"));
  fs::remove(dir_ / "records.jsonl");
  write_bytes(dir_ / "records.jsonl.gz", bytes.substr(0, bytes.size() / 2));
  EXPECT_NE(message(manifest()).find("records.jsonl.gz is cut short"), std::string::npos);
  EXPECT_THROW((void)read_records(dir_), Error);
}

TEST_F(StoreTest, PackedRecordsWithoutManifestAreRefused) {
  fs::create_directories(dir_);
  write_bytes(dir_ / "records.jsonl.gz", gzip_bytes(line_of(group("g0", 1)[0]).dump() + "\n"));
  EXPECT_NE(message(manifest()).find("has records.jsonl.gz but no run.json"), std::string::npos);
}

// The runs take milliseconds, so the folders into which old results are moved would get the same
// name.
TEST_F(StoreTest, WhatIsSetAsideInOneSecondIsAllKept) {
  constexpr int kRuns = 4;
  for (int run = 0; run < kRuns; ++run) {
    TestStore store(dir_, manifest(), /*fresh=*/true);
    EXPECT_TRUE(store.records().empty());
    store.append(group("g" + std::to_string(run), 1));
    fs::create_directory(dir_ / "figures");
    std::ofstream(dir_ / "figures" / "a.png") << run;
  }
  std::set<std::string> kept;
  for (const auto& entry : fs::directory_iterator(dir_))
    if (entry.path().filename().string().starts_with("previous-")) {
      EXPECT_TRUE(fs::exists(entry.path() / "figures" / "a.png"));
      for (const Record& record : read_records(entry.path())) kept.insert(record.point);
    }
  EXPECT_EQ(kept, (std::set<std::string>{"g0-0", "g1-0", "g2-0"}));
}

TEST_F(StoreTest, DamageBeforeTheTailIsAnErrorThatNamesTheLineAndChangesNothing) {
  {
    TestStore store(dir_, manifest(), false);
    store.append(group("g0", 1));
  }
  add_bytes("{ damaged }\n" + line_of(group("g1", 1)[0]).dump() + "\n");
  const auto size = fs::file_size(dir_ / "records.jsonl");
  EXPECT_NE(message(manifest()).find("line 3"), std::string::npos) << message(manifest());
  EXPECT_NE(message(manifest()).find("--fresh"), std::string::npos);
  EXPECT_EQ(fs::file_size(dir_ / "records.jsonl"), size);
}

std::vector<std::string> text_lines(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Whatever happens to one line, the lines that the message names can be deleted, and nothing else
// is lost.
TEST_F(StoreTest, AfterTheNamedLinesAreDeletedTheOtherGroupsAreThere) {
  const std::vector<std::pair<std::string, int>> groups = {
      {"g0", 1}, {"g1", 3}, {"g2", 2}, {"g3", 1}, {"g4", 2}};
  {
    TestStore store(dir_, manifest(), false);
    for (const auto& [id, size] : groups) store.append(group(id, size));
  }
  const fs::path file = dir_ / "records.jsonl";
  const std::vector<std::string> sound = text_lines(file);
  ASSERT_EQ(sound.size(), 10u);  // the first one is a run entry
  const auto write = [&](const std::vector<std::string>& lines) {
    std::ofstream out(file, std::ios::binary);
    for (const std::string& line : lines) out << line << "\n";
  };
  int refused = 0;
  for (size_t line = 1; line < sound.size(); ++line)
    for (const std::string damage : {"cut", "gone", "twice"}) {
      SCOPED_TRACE(damage + " " + std::to_string(line + 1));
      std::vector<std::string> lines = sound;
      const auto at = lines.begin() + static_cast<std::ptrdiff_t>(line);
      if (damage == "cut")
        at->resize(at->size() / 2);
      else if (damage == "gone")
        lines.erase(at);
      else
        lines.insert(at, std::string(*at));
      write(lines);
      const std::string text = message(manifest());
      if (text.empty()) continue;  // the damage was to the last line or to a whole group
      ++refused;
      const std::regex named("Delete lines? ([0-9]+)(?: to ([0-9]+))?");
      std::smatch found;
      ASSERT_TRUE(std::regex_search(text, found, named)) << text;
      const auto first = std::stol(found[1]), last = found[2].matched ? std::stol(found[2]) : first;
      lines = text_lines(file);
      lines.erase(lines.begin() + first - 1, lines.begin() + last);
      write(lines);
      EXPECT_EQ(message(manifest()), "");
      EXPECT_GE(text_lines(file).size(), sound.size() - 3);
    }
  EXPECT_GE(refused, 20);
}

TEST_F(StoreTest, ForeignJsonIsAnError) {
  { TestStore store(dir_, manifest(), false); }
  add_bytes("[1, 2]\n" + line_of(group("g1", 1)[0]).dump() + "\n");
  EXPECT_NE(message(manifest()).find("line 1"), std::string::npos) << message(manifest());
}

// Such as one whose run was interrupted while it measured the machine.
TEST_F(StoreTest, AFolderWithoutRecordsTakesOtherSettings) {
  { TestStore store(dir_, manifest(2), false); }
  EXPECT_EQ(message(manifest(4)), "");
}

TEST_F(StoreTest, OtherSettingsAreRefusedWithTheDifference) {
  {
    TestStore store(dir_, manifest(2), false);
    store.append(group("g0", 1));
  }
  const std::string text = message(manifest(4));
  EXPECT_NE(text.find("threads 4, was 2"), std::string::npos) << text;
  EXPECT_NE(text.find("--out"), std::string::npos);
  EXPECT_NE(text.find("--fresh"), std::string::npos);
}

Json with_identity(Json manifest, const std::string& revision) {
  manifest["identity"] = {
      {"code", {{"revision", revision}, {"compiler", "GNU 12"}}},
      {"machine", {{"cpu", "made up"}, {"cores", 2}}},
      {"sources",
       {{"models",
         {{"models/a",
           {{"config.json", "11"},
            {"weights", {{"model.safetensors", {{"bytes", 8}, {"header", "aa"}}}}}}}}}}}};
  return manifest;
}

TEST_F(StoreTest, OtherCodeMachineOrWeightsAreRefusedInWords) {
  const Json first = with_identity(manifest(), "a1b2c3d4e5f60718");
  {
    TestStore store(dir_, first, false);
    store.append(group("g0", 1));
  }
  EXPECT_EQ(message(first), "");
  const std::string code = message(with_identity(manifest(), "ffffffffffffffff"));
  EXPECT_NE(code.find("code revision ffffffffffff, was a1b2c3d4e5f6"), std::string::npos) << code;
  EXPECT_NE(code.find("--fresh"), std::string::npos);
  EXPECT_NE(code.find("--mix"), std::string::npos);
  Json other = first;
  other["identity"]["machine"]["cpu"] = "another";
  EXPECT_NE(message(other).find("machine cpu another, was made up"), std::string::npos);
  other = first;
  other["identity"]["sources"]["models"]["models/a"]["weights"]["model.safetensors"]["header"] =
      "bb";
  EXPECT_NE(message(other).find("weights of models/a: model.safetensors header bb, was aa"),
            std::string::npos)
      << message(other);
  other["identity"]["sources"]["models"]["models/a"].erase("weights");
  EXPECT_NE(message(other).find("weights of models/a"), std::string::npos) << message(other);
}

TEST_F(StoreTest, MixInsistsOnAnotherIdentityEachTime) {
  const Json first = with_identity(manifest(), "aaaa"), second = with_identity(manifest(), "bbbb");
  {
    TestStore store(dir_, first, false);
    EXPECT_EQ(store.difference(), "");
    store.append(group("g0", 1));
  }
  {
    TestStore store(dir_, second, false, "", /*mix=*/true);
    EXPECT_EQ(store.difference(), "code revision bbbb, was aaaa");
    store.append(group("g1", 1));
  }
  EXPECT_TRUE(json_of(read_json(dir_ / "run.json"))["mixed"].get<bool>());
  EXPECT_NE(message(second).find("--mix"), std::string::npos);
  EXPECT_EQ(message(first), "");
  EXPECT_TRUE(json_of(read_json(dir_ / "run.json"))["mixed"].get<bool>())
      << "its records are mixed for good";
}

TEST_F(StoreTest, IdentityOfAFolderWithoutRecordsIsTheNextRuns) {
  { TestStore store(dir_, with_identity(manifest(), "aaaa"), false); }
  EXPECT_EQ(message(with_identity(manifest(), "bbbb")), "");
  EXPECT_EQ(json_of(read_json(dir_ / "run.json"))["identity"]["code"]["revision"], "bbbb");
}

TEST_F(StoreTest, RecordsOfNobodyKnowsWhomAreRefused) {
  {
    TestStore store(dir_, manifest(), false);
    store.append(group("g0", 1));
  }
  EXPECT_NE(message(with_identity(manifest(), "aaaa")).find("does not say"), std::string::npos);
}

TEST_F(StoreTest, WritersWhoShareAFolderAreOfOneIdentity) {
  TestStore a(dir_, with_identity(manifest(), "aaaa"), false, "1of2");
  EXPECT_THROW(TestStore(dir_, with_identity(manifest(), "bbbb"), false, "2of2"), Error);
  TestStore b(dir_, with_identity(manifest(), "bbbb"), false, "2of2", /*mix=*/true);
  EXPECT_EQ(b.difference(), "code revision bbbb, was aaaa");
}

TEST(Differences, AreWordsAndTheScaleStandsFirst) {
  const Fields desk = {{"axes", Fields{{"batch", Values{1, 8}}, {"heads", Values{32}}}},
                       {"scale", "desk"}};
  const Fields smoke = {{"axes", Fields{{"batch", Values{1}}, {"heads", Values{4}}}},
                        {"scale", "smoke"}};
  EXPECT_EQ(difference_text(desk, smoke),
            "scale desk, was smoke; batch [1,8], was [1]; heads [32], was [4]");
  EXPECT_EQ(difference_text(desk, desk), "");
  EXPECT_EQ(difference_text(desk, {{"scale", "desk"}}),
            R"(axes {"batch":[1,8],"heads":[32]}, was none)");
}

TEST(Differences, OfFlagsAreTheWordsThatDiffer) {
  const std::string same(200, 'x');
  const Fields now = {{"code", Fields{{"flags", same + " -O3 -g"}}}},
               before = {{"code", Fields{{"flags", same + " -O2 -g"}}}};
  EXPECT_EQ(difference_text(now, before), R"(code flags: "-O3" is new, "-O2" is gone)");
}

TEST(MixedNote, TellsModifiedTreesOfOneRevisionApart) {
  std::vector<Record> records = {sample_record("p", "g", 0, 2), sample_record("q", "g", 1, 2)};
  for (Record& record : records) record.provenance.is_dirty = true;
  records[0].provenance.changes = "0a0a0a0a0a0a";
  records[1].provenance.changes = "0b0b0b0b0b0b";
  EXPECT_NE(mixed_note(records).find("modified 0a0a0a0a0a0a"), std::string::npos)
      << mixed_note(records);
  records[1].provenance.changes = "0a0a0a0a0a0a";
  EXPECT_EQ(mixed_note(records), "");
}

TEST(MixedNote, NamesWhatTheRecordsAreOf) {
  std::vector<Record> records = {sample_record("p", "g", 0, 2), sample_record("q", "g", 1, 2)};
  EXPECT_EQ(mixed_note(records), "");
  records[1].provenance.revision = "0123456789abcdef";
  EXPECT_NE(mixed_note(records).find("2 code revisions (0123456789ab, unknown)"), std::string::npos)
      << mixed_note(records);
  records[1] = sample_record("q", "g", 1, 2);
  records[1].machine.cpu = "another";
  EXPECT_NE(mixed_note(records).find("2 machines"), std::string::npos) << mixed_note(records);
  records[1] = sample_record("q", "g", 1, 2);
  records[0].machine.device = {.name = "one GPU"};
  records[1].machine.device = {.name = "another GPU"};
  EXPECT_NE(mixed_note(records).find("2 machines (another GPU with"), std::string::npos)
      << mixed_note(records);
  records[1] = sample_record("q", "g", 1, 2);
  records[0].sources = Fields{{"model", Fields{{"config.json", "11"}}}};
  records[1].sources = Fields{{"model", Fields{{"config.json", "22"}}}};
  EXPECT_NE(mixed_note(records).find("several states of one model's files"), std::string::npos);
  records = {sample_record("p", "g", 0, 2), sample_record("q", "g", 1, 2)};
  for (Record& record : records) record.sources = Fields{{"model", Fields{{"config.json", "11"}}}};
  EXPECT_EQ(mixed_note(records), "");
  (*records[1].sources)["workload"] = Fields{{"hash", "22"}};
  (*records[0].sources)["workload"] = Fields{{"hash", "11"}};
  EXPECT_NE(mixed_note(records).find("of several states of the workload's or"), std::string::npos)
      << mixed_note(records);
  EXPECT_EQ(mixed_note(records).find("one model's"), std::string::npos);
}

TEST_F(StoreTest, FreshSetsOldResultsAsideAndLosesNothing) {
  {
    TestStore store(dir_, manifest(2), false);
    store.append(group("g0", 1));
  }
  {
    TestStore store(dir_, manifest(4), true);
    EXPECT_TRUE(store.records().empty());
  }
  int kept = 0;
  for (const auto& entry : fs::directory_iterator(dir_))
    if (entry.path().filename().string().starts_with("previous-"))
      kept += static_cast<int>(read_records(entry.path()).size());
  EXPECT_EQ(kept, 1);
}

TEST_F(StoreTest, SecondWriterIsRefused) {
  TestStore store(dir_, manifest(), false);
  EXPECT_NE(message(manifest()).find("another run is writing"), std::string::npos);
}

TEST_F(StoreTest, SeveralWritersHaveAFileEachAndReadersSeeThemAll) {
  TestStore a(dir_, manifest(), false, "1of2");
  TestStore b(dir_, manifest(), false, "2of2");
  a.append(group("g0", 2));
  b.append(group("g1", 1));
  EXPECT_TRUE(fs::exists(dir_ / "records-1of2.jsonl"));
  EXPECT_TRUE(fs::exists(dir_ / "records-2of2.jsonl"));
  EXPECT_FALSE(fs::exists(dir_ / "records.jsonl"));
  EXPECT_FALSE(a.has("g1-0"));
  a.refresh();
  EXPECT_TRUE(a.has("g1-0"));
  EXPECT_EQ(a.records().size(), 3u);
  b.append(group("g2", 3));
  a.refresh();
  EXPECT_EQ(a.records().size(), 6u);
  EXPECT_EQ(read_records(dir_).size(), 6u);
}

TEST_F(StoreTest, PointThatTwoWritersMeasuredIsReadOnce) {
  {
    TestStore a(dir_, manifest(), false, "1of2");
    TestStore b(dir_, manifest(), false, "2of2");
    a.append(group("g0", 2));
    b.append(group("g0", 2));
    b.append(group("g1", 1));
  }
  const std::vector<Record> records = read_records(dir_);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(read_record_files(record_files(dir_)).repeated, 2);
  TestStore alone(dir_, manifest(), false);
  EXPECT_EQ(lines_of(alone.records()), lines_of(records));
}

// If a kill tears one writer's last group, the records of other writers remain, and so do this
// writer's earlier ones. When the writer opens its file again, it truncates only that file.
TEST_F(StoreTest, TornTailOfOneWriterHarmsNoOther) {
  {
    TestStore a(dir_, manifest(), false, "1of2");
    TestStore b(dir_, manifest(), false, "2of2");
    a.append(group("g0", 2));
    b.append(group("g1", 2));
  }
  const fs::path torn = dir_ / "records-1of2.jsonl";
  const auto whole = fs::file_size(torn);
  const std::string next =
      line_of(group("g2", 2)[0]).dump() + "\n" + line_of(group("g2", 2)[1]).dump() + "\n";
  for (size_t cut = 1; cut < next.size(); cut += 13) {
    fs::resize_file(torn, whole);
    std::ofstream(torn, std::ios::app | std::ios::binary) << next.substr(0, cut);
    EXPECT_EQ(read_records(dir_).size(), 4u) << "cut at " << cut;
    TestStore b(dir_, manifest(), false, "2of2");
    EXPECT_EQ(b.records().size(), 4u);
    EXPECT_EQ(b.dropped_bytes(), 0);
    EXPECT_EQ(fs::file_size(torn), whole + cut) << "another writer's file was cut";
    TestStore a(dir_, manifest(), false, "1of2");
    EXPECT_EQ(a.dropped_bytes(), static_cast<int64_t>(cut));
    EXPECT_EQ(fs::file_size(torn), whole);
  }
}

// A reader that finds a half-written group reads it once it is whole.
TEST_F(StoreTest, GroupIsTakenInWhenItIsWhole) {
  TestStore a(dir_, manifest(), false, "1of2");
  { TestStore b(dir_, manifest(), false, "2of2"); }
  const fs::path file = dir_ / "records-2of2.jsonl";
  const std::string lines =
      line_of(group("g0", 2)[0]).dump() + "\n" + line_of(group("g0", 2)[1]).dump() + "\n";
  for (const size_t end : {size_t{10}, lines.find('\n') + 1, lines.size() - 1}) {
    std::ofstream(file, std::ios::trunc | std::ios::binary) << lines.substr(0, end);
    a.refresh();
    EXPECT_TRUE(a.records().empty()) << end;
  }
  std::ofstream(file, std::ios::trunc | std::ios::binary) << lines;
  a.refresh();
  EXPECT_EQ(a.records().size(), 2u);
  a.refresh();
  EXPECT_EQ(a.records().size(), 2u);
}

TEST_F(StoreTest, LockIsOfAWriterOrOfTheFolder) {
  const auto refusal = [&](const std::string& writer, bool fresh = false) -> std::string {
    try {
      TestStore store(dir_, manifest(), fresh, writer);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  {
    TestStore a(dir_, manifest(), false, "1of2");
    EXPECT_NE(refusal("1of2").find("a shard of its own"), std::string::npos) << refusal("1of2");
    EXPECT_EQ(refusal("2of2"), "");
    EXPECT_NE(refusal("").find("another run is writing"), std::string::npos);
    EXPECT_NE(refusal("2of2", true).find("--fresh"), std::string::npos);
  }
  EXPECT_EQ(refusal("1of2"), "");
  TestStore alone(dir_, manifest(), false);
  EXPECT_NE(refusal("1of2").find("another run is writing"), std::string::npos);
}

TEST_F(StoreTest, ClaimIsOneWritersAndEndsWithIt) {
  TestStore a(dir_, manifest(), false, "1of2");
  auto b = std::make_unique<TestStore>(dir_, manifest(), false, "2of2");
  EXPECT_TRUE(a.claim(3));
  EXPECT_FALSE(b->claim(3));
  EXPECT_TRUE(b->claim(4));
  EXPECT_FALSE(a.claim(4));
  a.append(group("g3", 1));
  a.release(3);
  EXPECT_FALSE(b->has("g3-0"));
  EXPECT_TRUE(b->claim(3));
  EXPECT_TRUE(b->has("g3-0")) << "who claims a group must see that it was measured";
  b.reset();
  EXPECT_TRUE(a.claim(3));
  EXPECT_TRUE(a.claim(4));
}

TEST_F(StoreTest, SkippedPointsAreListedUntilSomebodyMeasuresThem) {
  const auto skipped = [](const std::string& point) { return SkippedPoint{.point = point}; };
  {
    TestStore a(dir_, manifest(), false, "1of2");
    TestStore b(dir_, manifest(), false, "2of2");
    a.write_skipped({skipped("g0-0"), skipped("g1-0")});
    b.write_skipped({skipped("g1-0"), skipped("g2-0")});
    EXPECT_EQ(read_skipped(dir_).size(), 3u);
    b.append(group("g0", 1));
    EXPECT_EQ(read_skipped(dir_).size(), 2u);
    a.write_skipped({});
    EXPECT_EQ(read_skipped(dir_).size(), 2u);
    b.write_skipped({});
    EXPECT_TRUE(read_skipped(dir_).empty());
  }
  { TestStore alone(dir_, manifest(), true); }
  EXPECT_FALSE(fs::exists(dir_ / "records-2of2.jsonl"));
  EXPECT_FALSE(fs::exists(dir_ / "skipped-2of2.json"));
}

TEST_F(StoreTest, RecordsWithoutManifestAreRefused) {
  fs::create_directories(dir_);
  add_bytes("{}\n");
  EXPECT_NE(message(manifest()).find("run.json"), std::string::npos);
}

TEST_F(StoreTest, FolderThatCannotBeMadeIsAnError) {
  std::ofstream(dir_) << "a file where the folder should be";
  EXPECT_NE(message(manifest()).find("--out"), std::string::npos) << message(manifest());
}

TEST(Record, FaultsAreNamed) {
  EXPECT_EQ(line_fault(sample_json("p", "g", 0, 1)), "");
  Json late = sample_json("p", "g", 0, 1);
  late["samples"]["e2e_ms"] = {1.0, 1.0};
  EXPECT_NE(line_fault(late).find("above e2e_ms"), std::string::npos);
  Json zero = sample_json("p", "g", 0, 1);
  zero["samples"]["ttft_ms"] = {0.0, 1.0};
  EXPECT_NE(line_fault(zero).find("not above 0"), std::string::npos);
  Json unitless = sample_json("p", "g", 0, 1);
  unitless["metrics"]["ttft_ms"].erase("unit");
  EXPECT_NE(line_fault(unitless).find("unit is missing"), std::string::npos);
  Json anonymous = sample_json("p", "g", 0, 1);
  anonymous.erase("machine");
  EXPECT_NE(line_fault(anonymous).find("machine"), std::string::npos);
  Json reused = sample_json("p", "g", 0, 1);
  reused["metrics"]["reused_tokens"] = {{"value", 9}, {"unit", "tokens"}};
  reused["metrics"]["prompt_tokens_total"] = {{"value", 8}, {"unit", "tokens"}};
  EXPECT_NE(line_fault(reused).find("reused"), std::string::npos);
}

}  // namespace
}  // namespace reprise::results
