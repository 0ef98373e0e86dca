// The append-only store of one run: records.jsonl, flushed group by group, resumed after a kill.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/json.h"

namespace reprise::results {

// A folder of results holds
//   run.json        the manifest: what is being measured, with its config hash
//   machine.json    the machine's facts and limits, measured once
//   records.jsonl   one record a line
//   lock            held while a run writes here
//   paper.json      what the paper gives for these points, looked up anew for each drawing
//   figures/        drawn from the above
//   previous-*/     what --fresh set aside
//
// A group of records (points measured interleaved) is written with one write and reaches the disk
// before append returns. What a kill can leave is a torn or incomplete last group; opening cuts it
// off, so that the group is measured again as a whole.
class RecordStore {
 public:
  // Makes or opens `dir`. `manifest` has "config_hash" and "settings"; a folder that holds another
  // hash is an Error naming what differs. `fresh` moves older results into previous-<time>/ first.
  // Throws Error when another run holds the lock, when the folder cannot be written, or when a
  // record before the last group is damaged.
  RecordStore(std::filesystem::path dir, const Json& manifest, bool fresh);
  ~RecordStore();
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;

  // The record of a point, or null.
  [[nodiscard]] const Json* find(const std::string& point) const;
  [[nodiscard]] bool has(const std::string& point) const { return find(point) != nullptr; }
  [[nodiscard]] const std::vector<Json>& records() const { return records_; }
  [[nodiscard]] int64_t dropped_bytes() const { return dropped_bytes_; }  // of the torn tail
  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }

  // Writes one whole group. Each record must be sound (record_fault: CHECK). Throws Error when the
  // disk refuses; the file is then as it was before.
  void append(std::span<const Json> group);

 private:
  void lock();
  void set_aside();
  void open_manifest(const Json& manifest);
  void open_records();
  void keep(std::span<const Json> records);

  std::filesystem::path dir_;
  int lock_file_ = -1;
  int file_ = -1;
  int64_t size_ = 0;  // bytes of whole groups in the file
  int64_t dropped_bytes_ = 0;
  std::vector<Json> records_;
  std::unordered_map<std::string, size_t> index_;  // point id -> place in records_
};

// Whole groups of DIR/records.jsonl, without locking or changing anything.
std::vector<Json> read_records(const std::filesystem::path& dir);

// Replaces a file in one step: written beside it, flushed to the disk, renamed.
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace reprise::results
