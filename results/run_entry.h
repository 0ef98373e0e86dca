// Run entries. A run entry is a line in a file of records. It stores once the keys that all records
// of a run have in common.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "results/record.h"
#include "results/results_file.h"

namespace reprise::results {

// A file of records has lines of two kinds:
//   {"schema": 2, "run": ID, "experiment": ..., "config_hash": ..., "machine": ..., "provenance":
//   ...}
//   {"schema": 2, "run": ID, "point": ..., "metrics": ..., ...}
// The first line is a run entry. The second is a record; it takes the keys that it lacks from the
// entry with the same ID, which is on an earlier line. A record without "run" has all keys itself,
// as every record of schema 1 does.

// Completes the records of one file, which is read line by line.
class RunEntries {
 public:
  // `most_added_bytes` limits what whole() may add to all records together, because a short file
  // can refer to a long entry many times.
  explicit RunEntries(size_t most_added_bytes = kMostResultsBytes)
      : most_added_bytes_(most_added_bytes) {}

  // True if the line is a run entry.
  [[nodiscard]] static bool is_entry(const Fields& line);
  // Adds an entry and returns its ID. Throws Error naming `where` (file and line) if a key is
  // missing or invalid, or if an earlier entry has the same ID and other contents.
  std::string add(const Fields& line, const std::string& where);
  // Returns the record with the keys of its run's entry added and "run" removed. Throws Error
  // naming `where` if no earlier line is that entry, if record and entry have a key in common, and
  // if more than `most_added_bytes` would be added in all.
  [[nodiscard]] Fields whole(Fields record, const std::string& where);

 private:
  struct Entry {
    Fields shared;
    size_t bytes = 0;  // size of its JSON
  };
  std::map<std::string, Entry> entries_;  // by ID
  size_t most_added_bytes_;
  size_t added_bytes_ = 0;
};

// Writes records as lines, each without the keys that its run entry holds. A run entry precedes the
// first record of each run whose ID is not yet in `written`; the ID is added there.
[[nodiscard]] std::string run_lines(std::span<const Record> records,
                                    std::set<std::string>& written);

}  // namespace reprise::results
