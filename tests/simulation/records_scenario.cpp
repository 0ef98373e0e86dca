// Runs write their records, alone or two in one folder, while the disk fails and processes die.
// What append() has accepted must stay, readers must see only whole groups, and running again must
// complete the folder.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "results/results_file.h"
#include "results/store.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/results/sample_record.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/scenario.h"

namespace reprise::simulation {
namespace {

using results::Record;
using results::RecordStore;

class RecordsRun {
 public:
  RecordsRun(uint64_t seed, Canary canary, Counts& counts)
      : random_(seed), canary_(canary), counts_(counts), is_shared_(random_.one_in(3)) {
    const int32_t groups = random_.pick(2, 8);
    for (int32_t i = 0; i < groups; ++i) groups_.push_back(drawn_group(i));
  }

  void run() {
    for (int runs = 0; accepted_.size() < groups_.size(); ++runs) {
      demand(runs < 200, "{} of {} groups are complete after {} runs", accepted_.size(),
             groups_.size(), runs);
      Disk disk(random_.bits());
      const int32_t one_in = random_.pick(4, 30);
      disk.arm(one_in, /*cuts=*/random_.one_in(2));
      try {
        one_run();
      } catch (const Error&) {
        ++counts_[disk.is_cut() ? "deaths" : "runs that failed"];
      }
      ++counts_["runs"];
      disk.arm(0);
      check();
    }
    ++counts_["folders completed"];
    check_lines();
  }

 private:
  std::vector<Record> drawn_group(int32_t number) {
    std::vector<std::string> points;
    const int32_t of = random_.pick(1, 3);
    for (int32_t i = 0; i < of; ++i) points.push_back(fmt::format("point {}-{}", number, i));
    std::vector<Record> records;
    for (int32_t i = 0; i < of; ++i)
      records.push_back(
          results::sample_record(points[static_cast<size_t>(i)], results::group_id(points), i, of));
    return records;
  }

  // Opens the folder and measures what is missing, as a run does.
  void one_run() {
    const results::Manifest manifest = {.config_hash = "00000000000000aa"};
    std::vector<std::unique_ptr<RecordStore>> writers;
    for (const char* name : {"a", "b"}) {
      if (!is_shared_ && !writers.empty()) break;
      writers.push_back(std::make_unique<RecordStore>(folder_.path() / "results", manifest,
                                                      /*fresh=*/false, is_shared_ ? name : ""));
    }
    for (size_t i = 0; i < groups_.size(); ++i) {
      RecordStore& writer = *random_.of(std::span<const std::unique_ptr<RecordStore>>(writers));
      demand(writer.claim(i), "group {} is claimed by nobody, and cannot be", i);
      for (const std::unique_ptr<RecordStore>& other : writers)
        if (is_shared_ && other.get() != &writer)
          demand(!other->claim(i), "group {} is claimed by two writers", i);
      if (!writer.has(groups_[i][0].point)) {
        writer.append(groups_[i]);
        ++counts_["groups accepted"];
        accepted_.insert(i);
        make_mistake(writer);
      }
      accepted_.insert(i);
      writer.release(i);
    }
  }

  void make_mistake(const RecordStore& writer) {
    const std::filesystem::path file = writer.own_file("records", "jsonl");
    if (canary_ == Canary::kLostGroup && accepted_.size() == 2)
      std::filesystem::resize_file(file, 0);
    if (canary_ == Canary::kTornMiddle && accepted_.size() == 1)
      std::ofstream(file, std::ios::app) << "{\"torn\": ";
  }

  void check() const {
    const std::filesystem::path dir = folder_.path() / "results";
    bool has_files = false;
    if (std::filesystem::exists(dir))
      for (const auto& entry : std::filesystem::directory_iterator(dir))
        has_files |= entry.path().extension() == ".jsonl";
    if (!has_files) {
      demand(accepted_.empty(), "{} groups were accepted, and there is no file", accepted_.size());
      return;
    }
    std::vector<Record> found;
    try {
      found = results::read_records(dir);
    } catch (const Error& error) {
      demand(false, "the records cannot be read: {}", error.what());
    }
    std::set<std::string> points;
    for (const Record& record : found) points.insert(record.point);
    for (size_t i = 0; i < groups_.size(); ++i) {
      const auto there =
          std::count_if(groups_[i].begin(), groups_[i].end(),
                        [&](const Record& one) { return points.contains(one.point); });
      demand(there == 0 || there == std::ssize(groups_[i]), "{} of {} records of a group are there",
             there, groups_[i].size());
      demand(there > 0 || !accepted_.contains(i), "group {} was accepted and is gone", i);
    }
    // The file of a sole writer must be a prefix of what an undisturbed run writes.
    if (is_shared_) return;
    size_t next = 0;
    for (const std::vector<Record>& group : groups_)
      for (const Record& record : group)
        if (next < found.size()) {
          demand(found[next].point == record.point, "{} stands where {} belongs", found[next].point,
                 record.point);
          demand(results::line_of(found[next]) == results::line_of(record), "{} has changed",
                 record.point);
          ++next;
        }
  }

  // A further run must find nothing left to do, cut off torn lines, and leave each record exactly
  // once in all files together.
  void check_lines() {
    one_run();
    std::string text;
    for (const std::filesystem::path& file : results::record_files(folder_.path() / "results"))
      text += results::read_results_file(file);
    for (const std::vector<Record>& group : groups_)
      for (const Record& record : group) {
        const std::string name = fmt::format("\"point\":\"{}\"", record.point);
        const size_t first = text.find(name);
        demand(first != text.npos && text.find(name, first + 1) == text.npos,
               "{} is not there once", record.point);
      }
  }

  Random random_;
  Canary canary_;
  Counts& counts_;
  bool is_shared_;
  model::TempDir folder_;
  std::vector<std::vector<Record>> groups_;
  std::set<size_t> accepted_;
};

void run(uint64_t seed, Canary canary, Counts& counts) { RecordsRun(seed, canary, counts).run(); }

}  // namespace

Scenario records_scenario() {
  return {
      .name = "records",
      .run = run,
      .expected = {"runs", "runs that failed", "deaths", "groups accepted", "folders completed"},
      .canaries = {Canary::kLostGroup, Canary::kTornMiddle}};
}

}  // namespace reprise::simulation
