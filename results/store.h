// The append-only store of a run: records in lines, written group by group, resumed after a kill,
// by one process or several. A results folder holds
//   run.json        the manifest: what is being measured, with its config hash
//   machine.json    the machine's facts and limits, measured once
//   records.jsonl   one record a line
//   skipped.json    points that did not fit into memory, with their need
//   lock            locked while a run writes here
//   claims          groups being measured, as locks on its bytes
//   figures/        drawn from the above
//   previous-*/     older results set aside by --fresh
// Several writers have files of their own: machine-WRITER.json, records-WRITER.jsonl,
// skipped-WRITER.json and lock-WRITER. Readers see all records, each point once.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "results/manifest.h"
#include "results/record.h"
#include "results/run_entry.h"

namespace reprise::results {

// A point that did not fit into memory.
struct SkippedPoint {
  std::string point, group;
  std::string label;   // label of its group
  std::string method;  // method with its options
  std::optional<double> need_bytes, available_bytes;
  std::string reason;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("point", self.point);
    visitor.defaulted("group", self.group);
    visitor.defaulted("label", self.label);
    visitor.defaulted("method", self.method);
    visitor.optional("need_bytes", self.need_bytes);
    visitor.optional("available_bytes", self.available_bytes);
    visitor.defaulted("reason", self.reason);
  }
};

// A group of records (points measured interleaved) is written with one write and is on disk before
// append() returns. A kill can leave only the last group of a file torn, that is incomplete. The
// file's writer cuts a torn group off at its next start and measures the group again. Readers stop
// before a torn group.
class RecordStore {
 public:
  // Makes or opens `dir`. Throws Error saying what differs if the folder has a manifest or records
  // of another config hash, or another identity; `mix` allows another identity. `fresh` first moves
  // older results to previous-<time>/. Writer "" must be alone in the folder; named writers share
  // it. Throws Error also if the folder is locked, not writable or damaged, and for `fresh` in a
  // shared folder.
  RecordStore(std::filesystem::path dir, const Manifest& manifest, bool fresh,
              std::string writer = "", bool mix = false);
  ~RecordStore();
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;

  // Returns the record of a point, or null. The pointer is valid until append() or refresh().
  [[nodiscard]] const Record* find(const std::string& point) const;
  [[nodiscard]] bool has(const std::string& point) const { return find(point) != nullptr; }
  // Records of all writers.
  [[nodiscard]] const std::vector<Record>& records() const { return records_; }
  // Bytes that were cut off this writer's torn last group.
  [[nodiscard]] int64_t dropped_bytes() const { return dropped_bytes_; }
  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }
  // Describes how this run's identity differs from the identity of the folder's first run; "" if it
  // does not.
  [[nodiscard]] const std::string& difference() const { return difference_; }
  // Returns this writer's file "<stem>.<extension>" or "<stem>-<writer>.<extension>".
  [[nodiscard]] std::filesystem::path own_file(const std::string& stem,
                                               const std::string& extension) const;

  // Claims group `number` for this process. Returns false if another process has claimed it. A
  // claim ends with release() or with the process. After claiming, call has(), since the group may
  // have been measured before. A writer that has the folder alone always succeeds.
  [[nodiscard]] bool claim(size_t number);
  void release(size_t number);
  // Reads the records that other writers have added. claim() does this too.
  void refresh();

  // Writes one whole group. record_fault() of each record must be "" (CHECK). Throws Error if a
  // metric is beyond kLargestNumber or the write fails; the file is then unchanged.
  void append(std::span<const Record> group);
  // Replaces this writer's list of skipped points.
  void write_skipped(const std::vector<SkippedPoint>& skipped) const;

 private:
  // The part of another writer's file that has been read.
  struct Progress {
    size_t bytes = 0;  // bytes of whole groups
    int64_t lines = 0;
    RunEntries runs;
  };

  void lock();
  void close_files();
  void set_aside();
  void open_manifest(const Manifest& planned, bool mix);
  // Returns the manifest to write if the folder already has the manifest `found`. Throws Error if
  // `found` and `planned` do not agree.
  [[nodiscard]] Manifest continued(const Manifest& found, const Manifest& planned, bool mix);
  [[nodiscard]] bool has_records() const;
  void lock_manifest(short type);
  void open_records();
  void keep(std::span<const Record> records);
  [[nodiscard]] bool is_shared() const { return !writer_.empty(); }

  std::filesystem::path dir_;
  std::string writer_;
  std::string config_hash_;
  std::string difference_;
  std::vector<int> locks_;  // file descriptors
  int claims_ = -1;
  int file_ = -1;
  int64_t size_ = 0;  // bytes of whole groups in the file
  int64_t dropped_bytes_ = 0;
  std::set<std::string> written_runs_;  // IDs of the entries in the file
  std::map<std::filesystem::path, Progress> others_;
  std::vector<Record> records_;
  std::unordered_map<std::string, size_t> index_;  // point id -> place in records_
};

// Reads the whole groups of all writers, each point once. Takes no lock and changes nothing.
std::vector<Record> read_records(const std::filesystem::path& dir);

// Returns the files of records, a sole writer's first. Throws Error if there is none.
std::vector<std::filesystem::path> record_files(const std::filesystem::path& dir);

struct WholeRecords {
  std::vector<Record> records;  // the first of each point
  int64_t repeated = 0;         // number of records of points that an earlier line has
  // Bytes after the last whole group of each file, left by a run in progress or killed while
  // writing.
  int64_t torn_bytes = 0;
};
// Reads the given files, whatever their names. Throws Error if a record has another config hash;
// "" allows all.
WholeRecords read_record_files(const std::vector<std::filesystem::path>& files,
                               const std::string& config_hash = "");

// Returns the points that some writer skipped and none has measured, each once.
std::vector<SkippedPoint> read_skipped(const std::filesystem::path& dir);

// Replaces a file in one step: writes a temporary file beside it, flushes it to disk and renames
// it.
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace reprise::results
