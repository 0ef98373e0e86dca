// Reads and checks a whole results folder, for the table and the figures made from it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/manifest.h"
#include "results/record.h"
#include "results/store.h"

namespace reprise::results {

struct ResultsFolder {
  std::string source;                 // the folder, or the file of records
  Manifest run;                       // passed check_manifest()
  std::vector<Record> records;        // each point once
  std::vector<SkippedPoint> skipped;  // from read_skipped()
  int64_t torn_bytes = 0;             // from read_record_files()
};

// The records have the manifest's labels. Throws Error naming file, key, value found and values
// accepted, and with the remedy if there is no record, or one of other settings than the
// manifest's. Changes nothing, so the folder may be read-only.
[[nodiscard]] ResultsFolder read_folder(const std::filesystem::path& dir);

// Gives the records the labels that the manifest gives their methods, if it has labels. Records
// have the labels of the run that measured them, and a run that goes on may have others.
void take_labels(const Manifest& run, std::vector<Record>& records);

// Returns a key that identifies a point of a sweep over these axes ({axis: [values]}). Repetitions,
// threads and seeds are not part of it. `requested` are a record's settings.
[[nodiscard]] std::string point_key(const Fields& requested,
                                    const std::map<std::string, Values>& axes);

// Planned points at one place of the sweep that are neither measured nor skipped.
struct MissingPoints {
  // e.g. "bf16 batch=8": model, dtype, and the axes with several values.
  std::string label;
  std::vector<std::string> methods;  // names, with the options that are set
};
[[nodiscard]] std::vector<MissingPoints> missing_points(const ResultsFolder& folder);

}  // namespace reprise::results
