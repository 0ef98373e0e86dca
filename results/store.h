// The append-only store of a run: records in lines, flushed group by group, resumed after a kill,
// written by one process or by several.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/json.h"
#include "results/run_entry.h"

namespace reprise::results {

// A folder of results holds
//   run.json        the manifest: what is being measured, with its config hash
//   machine.json    the machine's facts and limits, measured once
//   records.jsonl   one record a line, and one line for what the records of a run share
//                   (results/run_entry.h)
//   skipped.json    points that did not fit into memory, with their need
//   lock            held while a run writes here
//   claims          groups that are being measured, as locks on its bytes
//   figures/        drawn from the above
//   previous-*/     what --fresh set aside
// Each of several writers has files of its own, machine-WRITER.json, records-WRITER.jsonl,
// skipped-WRITER.json and lock-WRITER; whoever reads the folder sees the records of all, each point
// once. A file of records may have been packed (records.jsonl.gz): its records count as before, and
// a run that goes on writes a new records.jsonl beside it.
//
// A group of records (points measured interleaved) is written with one write and reaches the disk
// before append returns. What a kill can leave is a torn or incomplete last group; its writer's
// next opening cuts it off, so that the group is measured again as a whole, and other readers stop
// before it.
class RecordStore {
 public:
  // Makes or opens `dir`. `manifest` has "config_hash" and "settings", and "identity" where it
  // matters; a folder that holds records of another hash or identity is an Error that says in words
  // what differs. `mix` insists on another identity (difference() tells it). `fresh` moves older
  // results into previous-<time>/ first. `writer` "" has the folder for itself; other names
  // (letters, digits, '-') share it with one another. Throws Error when another run holds the lock,
  // when the folder cannot be written, when a record before the last group of a file is damaged,
  // and for `fresh` in a shared folder.
  RecordStore(std::filesystem::path dir, const Json& manifest, bool fresh, std::string writer = "",
              bool mix = false);
  ~RecordStore();
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;

  // The record of a point, or null. A pointer holds until append() or refresh().
  [[nodiscard]] const Json* find(const std::string& point) const;
  [[nodiscard]] bool has(const std::string& point) const { return find(point) != nullptr; }
  [[nodiscard]] const std::vector<Json>& records() const { return records_; }  // of all writers
  // Of this writer's torn tail.
  [[nodiscard]] int64_t dropped_bytes() const { return dropped_bytes_; }
  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }
  // How this run's identity differs from that of the folder's first, in words; "" where it does
  // not.
  [[nodiscard]] const std::string& difference() const { return difference_; }
  // This writer's file "<stem>.<extension>" or "<stem>-<writer>.<extension>".
  [[nodiscard]] std::filesystem::path own_file(const std::string& stem,
                                               const std::string& extension) const;

  // Takes group `number` for this process; false where another one has it now. A claim ends with
  // release(), and with the process, however that ends. Ask has() after it: the group may have been
  // measured before. Alone in the folder, every claim succeeds.
  [[nodiscard]] bool claim(size_t number);
  void release(size_t number);
  // Takes in what the other writers have added; claim() does so too.
  void refresh();

  // Writes one whole group. Each record must be sound (record_fault: CHECK). Throws Error when the
  // disk refuses; the file is then as it was before.
  void append(std::span<const Json> group);
  // Replaces this writer's list of skipped points: objects with "point", "need_bytes", ...
  void write_skipped(const std::vector<Json>& skipped) const;

 private:
  // How far a file of another writer has been read.
  struct Progress {
    size_t bytes = 0;  // of whole groups
    int64_t lines = 0;
    RunEntries runs;
  };

  void lock();
  void close_files();
  void set_aside();
  void open_manifest(const Json& manifest, bool mix);
  // The manifest to write where `found` is there; throws Error where they do not agree.
  [[nodiscard]] Json continued(const Json& found, const Json& manifest, bool mix);
  [[nodiscard]] bool has_records() const;
  void lock_manifest(short type);
  void open_records();
  void keep(std::span<const Json> records);
  [[nodiscard]] bool is_shared() const { return !writer_.empty(); }

  std::filesystem::path dir_;
  std::string writer_;
  std::string difference_;
  std::vector<int> locks_;  // open files
  int claims_ = -1;
  int file_ = -1;
  int64_t size_ = 0;  // bytes of whole groups in the file
  int64_t dropped_bytes_ = 0;
  std::set<std::string> written_runs_;  // IDs of the entries in the file
  std::map<std::filesystem::path, Progress> others_;
  std::vector<Json> records_;
  std::unordered_map<std::string, size_t> index_;  // point id -> place in records_
};

// Whole groups of all writers of a folder, each point once, without locking or changing anything.
std::vector<Json> read_records(const std::filesystem::path& dir);

// Its files of records, that of the only writer first. Throws Error where there is none.
std::vector<std::filesystem::path> record_files(const std::filesystem::path& dir);

struct WholeRecords {
  std::vector<Json> records;
  // Behind the last whole group of each file: of a run under way, or killed while it wrote.
  int64_t torn_bytes = 0;
};
// What certain files hold, whatever they are called.
WholeRecords read_record_files(const std::vector<std::filesystem::path>& files);

// Points that some writer skipped and none has measured, each once.
std::vector<Json> read_skipped(const std::filesystem::path& dir);

// Replaces a file in one step: written beside it under a name of its own, flushed to the disk,
// renamed.
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace reprise::results
