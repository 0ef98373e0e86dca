// Writes the keys that all records of a run share once in a file of records, in an entry of their
// own.
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
// The first is an entry; the second is a record, which lacks the keys that the entry of the same
// ID, on a line before it, has. A record without "run" has all keys itself (all of schema 1 are
// such).

// The entries of one file, taken in line by line.
class RunEntries {
 public:
  // whole() may add `most_added_bytes` to the records in all: a short file may name a long entry
  // often.
  explicit RunEntries(size_t most_added_bytes = kMostResultsBytes)
      : most_added_bytes_(most_added_bytes) {}

  // Whether a line is an entry.
  [[nodiscard]] static bool is_entry(const Fields& line);
  // Takes an entry in and returns its ID. Throws Error naming `where` (file and line) where a key
  // is missing or unsound, or an entry before it has the same ID and says something else.
  std::string add(const Fields& line, const std::string& where);
  // The fields of a record with all its keys, and without "run". Throws Error naming `where` where
  // no line before it is its run's entry, where both have a key, and where the records become too
  // large.
  [[nodiscard]] Fields whole(Fields record, const std::string& where);

 private:
  struct Entry {
    Fields shared;
    size_t bytes = 0;  // of its JSON
  };
  std::map<std::string, Entry> entries_;  // by ID
  size_t most_added_bytes_;
  size_t added_bytes_ = 0;
};

// The lines of records that have all their keys. An entry is among them for each run whose ID is
// not in `written`, to which it is added.
[[nodiscard]] std::string run_lines(std::span<const Record> records,
                                    std::set<std::string>& written);

}  // namespace reprise::results
