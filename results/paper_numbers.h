// What a paper printed or its authors published, to stand beside our numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::results {

// A file of results/papers:
//   source    paper and table, as a caption says it
//   label     (optional) what a table's column and a legend call it: "A40"; "paper" by default
//   hardware  what it was measured on
//   fixed     {setting: value} that hold for all rows
//   columns   names of settings and metrics, one for each cell of a row; "model" is the last part
//   of
//             a checkpoint's path
//   metrics   {metric: unit}: which of the columns are metrics; the others are settings
//   rows      [[cell, ...], ...], null where the paper gives none; an object such as {"copies":
//             true} for method_options holds for settings that have these members among others
//   csv       instead of rows: {file, columns: {heading: name}, values: {text: setting's value},
//             where: {heading: text}}, the file below the folder that REPRISE_DATA names; without
//             it there are no rows. Of its lines those count that have the texts of `where`; equal
//             settings are repetitions, whose median is taken
//   baseline  (optional) {method, time, speedup}: rows with that time get that speedup over the
//             method's row at the same settings
class PaperNumbers {
 public:
  PaperNumbers() = default;  // none
  // Throws Error naming file and key.
  PaperNumbers(const Json& file, const std::string& source);

  [[nodiscard]] const std::string& source() const { return source_; }  // "ChunkAttention, table 3"
  [[nodiscard]] const std::string& hardware() const { return hardware_; }  // "an NVIDIA A100, fp16"
  [[nodiscard]] const std::string& label() const { return label_; }
  // Names the CSV that is not there, "" if none is missing.
  [[nodiscard]] const std::string& missing() const { return missing_; }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // {metric: {value, unit}} of the row whose settings are all those of a point (its settings as
  // resolved); {} where there is none.
  [[nodiscard]] Json at(const Json& settings) const;

 private:
  struct Row {
    Json settings = Json::object();
    Json metrics = Json::object();
  };
  void read_rows(JsonObject& file);
  void read_csv(JsonObject csv);
  void take_medians();
  void add_row(const std::vector<std::string>& columns, const std::vector<Json>& cells,
               const std::string& where);
  void add_speedups(JsonObject baseline);
  [[nodiscard]] const Row* find(const Json& settings) const;

  std::string source_, hardware_, label_, missing_;
  Json fixed_ = Json::object();
  Json units_ = Json::object();
  std::vector<Row> rows_;
};

// The shipped files by name, and one of them. Throws Error for an unknown name, with the nearest.
std::vector<std::string> known_paper_numbers();
PaperNumbers load_paper_numbers(const std::string& name);

// Those that a run's manifest names ("paper_numbers"), none where it names none.
std::vector<PaperNumbers> paper_numbers_of(const Json& manifest);

// What each gives for the records: [{"source", "hardware", "label", "points": {point id: {metric:
// {value, unit}}}}]; those that give nothing are left out.
Json paper_points(const std::vector<PaperNumbers>& papers, const std::vector<Json>& records);

}  // namespace reprise::results
