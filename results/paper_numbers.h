// Numbers that a paper printed or its authors published, to be shown beside measured numbers.
//
// A file of results/papers:
//   source    paper and table, as a caption writes it
//   label     (optional) heading of a table's column and legend entry, e.g. "A40"; default "paper"
//   hardware  the machine it was measured on
//   fixed     {setting: value}, valid for all rows
//   mean_of   (optional) the data sets whose mean the rows with {"file": "mean"} give
//   columns   names of settings and metrics, one per cell of a row. A cell of "model" is the last
//             part of a model's path. A workload's "file" is the end of the file's path ("sts15"),
//             in upper or lower case
//   metrics   {metric: unit}: the columns that are metrics; the others are settings
//   rows      [[cell, ...], ...], null if the paper gives no value. An object such as {"copies":
//             true} for method_options matches settings that contain these members
//   csv       instead of rows: {file, columns: {heading: name}, values: {text: setting's value},
//             where: {heading: text}}. Without the file below one of data_folders() there are no
//             rows. Only lines with the texts of `where` count; lines with equal settings are
//             repetitions, and their medians are taken
//   baseline  (optional) {method, time, speedup}: a row with the metric `time` gets the metric
//             `speedup`, the time of `method` at the same settings over the row's own time
//   like      replaces all of these except fixed: {file, columns: {setting there: setting here},
//             values: {text there: setting's value}} takes the numbers of another file, for a kind
//             that names its settings differently. Settings that columns does not name are ignored
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "results/manifest.h"
#include "results/record.h"

namespace reprise::results {

// The numbers of one file.
class PaperNumbers {
 public:
  PaperNumbers() = default;  // no numbers
  // Throws Error naming file and key.
  PaperNumbers(const Value& file, const std::string& source);

  // e.g. "ChunkAttention, table 3"
  [[nodiscard]] const std::string& source() const { return source_; }
  // e.g. "an NVIDIA A100, fp16"
  [[nodiscard]] const std::string& hardware() const { return hardware_; }
  [[nodiscard]] const std::string& label() const { return label_; }
  void set_label(std::string label) { label_ = std::move(label); }
  // Name of the CSV file that was not found; "" if none is missing.
  [[nodiscard]] const std::string& missing() const { return missing_; }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // Drops the rows of means, unless `sets` (paths or names) are the data sets of mean_of. The
  // paper's mean over its sets says nothing beside our mean over others.
  void keep_means_of(const std::vector<std::string>& sets);
  // Returns the values of the row whose settings all match a point's resolved settings; none if
  // there is no such row.
  [[nodiscard]] Metrics at(const Fields& settings) const;

 private:
  struct Row {
    Fields settings;
    Metrics metrics;  // values and units
  };
  void read_rows(JsonObject& file);
  void read_csv(JsonObject csv);
  void read_like(JsonObject like);
  void take_medians();
  void add_row(const std::vector<std::string>& columns, const Values& cells,
               const std::string& where);
  void add_speedups(JsonObject baseline);
  [[nodiscard]] const Row* find(const Fields& settings) const;

  std::string source_, hardware_, label_, missing_;
  Fields fixed_;
  std::vector<std::string> mean_of_;
  std::map<std::string, std::string> units_;
  std::vector<Row> rows_;
};

// known_paper_numbers(): the names of the shipped files. load_paper_numbers() loads one of them,
// and throws Error for an unknown name, with the nearest.
std::vector<std::string> known_paper_numbers();
PaperNumbers load_paper_numbers(const std::string& name);

// Loads the files that a manifest names under "paper_numbers", with their means only if the
// manifest has the same data sets. If several have one label, the second gets "LABEL 2" and so on,
// since labels are headings of columns and keys.
std::vector<PaperNumbers> paper_numbers_of(const Manifest& manifest);

// The numbers of one file that belong to records. `points` has the metrics by Record::point.
struct PaperPoints {
  std::string source, hardware, label;
  std::map<std::string, Metrics> points;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor.required("source", self.source);
    visitor.required("hardware", self.hardware);
    visitor.required("label", self.label);
    visitor.required("points", self.points);
  }

  // The number for a record's metric; nullopt if the paper gives none.
  [[nodiscard]] std::optional<double> value(const Record& record, const std::string& metric) const;
  // True if there is a number of the metric for any point.
  [[nodiscard]] bool has(const std::string& metric) const;
};

// Looks up the numbers of each paper at the records' settings. Returns one PaperPoints for each of
// `papers` that has a number for at least one record.
std::vector<PaperPoints> paper_points(const std::vector<PaperNumbers>& papers,
                                      const std::vector<Record>& records);

}  // namespace reprise::results
