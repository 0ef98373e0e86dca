#include "results/paper_numbers.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/error.h"
#include "results/data_dir.h"
#include "results/placeholders.h"
#include "results/statistics.h"

namespace reprise::results {
namespace {

namespace fs = std::filesystem;

fs::path papers_dir() { return data_dir() / "results" / "papers"; }

// Splits a line after removing a final carriage return.
std::vector<std::string> split(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

// Returns a number if the text reads as one, else the value that `values` gives for it, else the
// text.
Json cell_of(const std::string& text, const Json& values) {
  if (values.contains(text)) return values[text];
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return text;
}

// True if `found` has all members of `wanted`, also inside nested objects.
bool has_all(const Json& found, const Json& wanted) {
  if (!wanted.is_object() || !found.is_object()) return found == wanted;
  return std::all_of(wanted.items().begin(), wanted.items().end(), [&](const auto& item) {
    return found.contains(item.key()) && has_all(found[item.key()], item.value());
  });
}

}  // namespace

PaperNumbers::PaperNumbers(const Json& json, const std::string& source) {
  JsonObject file(json, source);
  source_ = file.string("source");
  hardware_ = file.string("hardware");
  label_ = file.string("label", "paper");
  if (file.has("fixed")) fixed_ = file.object("fixed").json();
  units_ = file.object("metrics").json();
  if (file.has("csv")) {
    read_csv(file.object("csv"));
  } else {
    read_rows(file);
  }
  if (file.has("baseline")) add_speedups(file.object("baseline"));
  file.reject_unknown();
}

void PaperNumbers::read_rows(JsonObject& file) {
  std::vector<std::string> columns;
  for (const Json& name : file.at("columns"))
    columns.push_back(name.is_string() ? name.get<std::string>() : name.dump());
  const Json& rows = file.at("rows");
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string where = fmt::format("{} row {}", file.where("rows"), i);
    if (!rows[i].is_array()) raise("{} must be a list of cells", where);
    add_row(columns, rows[i].get<std::vector<Json>>(), where);
  }
}

void PaperNumbers::read_csv(JsonObject csv) {
  const std::string name = csv.string("file");
  const Json names = csv.object("columns").json();
  const Json values = csv.object("values").json();
  const Json where = csv.has("where") ? csv.object("where").json() : Json::object();
  csv.reject_unknown();
  const char* data = std::getenv("REPRISE_DATA");
  const fs::path path = fs::path(data == nullptr ? "" : data) / name;
  if (data == nullptr || !fs::exists(path)) {
    missing_ = name;
    return;
  }
  std::istringstream lines(read_file(path));
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> headings = split(line);
  for (int number = 2; std::getline(lines, line); ++number) {
    std::vector<std::string> columns;
    std::vector<Json> cells;
    const std::vector<std::string> texts = split(line);
    bool is_wanted = true;
    for (size_t c = 0; c < std::min(texts.size(), headings.size()); ++c) {
      if (where.contains(headings[c]) && where[headings[c]] != texts[c]) is_wanted = false;
      if (!names.contains(headings[c])) continue;
      columns.push_back(names[headings[c]]);
      cells.push_back(cell_of(texts[c], values));
    }
    if (is_wanted) add_row(columns, cells, fmt::format("{} line {}", path.string(), number));
  }
  take_medians();
}

// A file may list every repetition. Of rows with equal settings the first is kept, with medians.
void PaperNumbers::take_medians() {
  std::vector<Row> rows;
  std::map<std::string, std::pair<size_t, std::map<std::string, std::vector<double>>>> seen;
  for (Row& row : rows_) {
    const auto [entry, is_new] = seen.try_emplace(row.settings.dump(), rows.size(),
                                                  std::map<std::string, std::vector<double>>{});
    for (const auto& [metric, value] : row.metrics.items())
      entry->second.second[metric].push_back(value["value"]);
    if (is_new) rows.push_back(std::move(row));
  }
  for (const auto& [settings, entry] : seen)
    for (const auto& [metric, values] : entry.second)
      rows[entry.first].metrics[metric]["value"] = summarize(values).median;
  rows_ = std::move(rows);
}

void PaperNumbers::add_row(const std::vector<std::string>& columns, const std::vector<Json>& cells,
                           const std::string& where) {
  if (cells.size() != columns.size())
    raise("{} has {} cells for {} columns", where, cells.size(), columns.size());
  Row row{.settings = fixed_};
  for (size_t c = 0; c < cells.size(); ++c) {
    if (cells[c].is_null()) continue;
    if (!units_.contains(columns[c])) {
      row.settings[columns[c]] = cells[c];
    } else if (cells[c].is_number()) {
      row.metrics[columns[c]] = {{"value", cells[c]}, {"unit", units_[columns[c]]}};
    } else {
      raise("{}: {} must be a number, found {}", where, columns[c], cells[c].dump());
    }
  }
  rows_.push_back(std::move(row));
}

void PaperNumbers::add_speedups(JsonObject baseline) {
  const std::string method = baseline.string("method"), time = baseline.string("time"),
                    speedup = baseline.string("speedup");
  baseline.reject_unknown();
  for (Row& row : rows_) {
    Json settings = row.settings;
    settings["method"] = method;
    const Row* base = find(settings);
    if (base == nullptr || !row.metrics.contains(time) || !base->metrics.contains(time)) continue;
    row.metrics[speedup] = {{"value", base->metrics[time]["value"].get<double>() /
                                          row.metrics[time]["value"].get<double>()},
                            {"unit", "ratio"}};
  }
}

const PaperNumbers::Row* PaperNumbers::find(const Json& settings) const {
  // A paper names a model; a point has the folder of its checkpoint.
  Json named = settings;
  if (named.contains("model") && named["model"].is_string())
    named["model"] = short_model_name(named["model"].get<std::string>());
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const Row& row) { return has_all(named, row.settings); });
  return found == rows_.end() ? nullptr : &*found;
}

Json PaperNumbers::at(const Json& settings) const {
  const Row* row = find(settings);
  return row == nullptr ? Json::object() : row->metrics;
}

std::vector<std::string> known_paper_numbers() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(papers_dir()))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

PaperNumbers load_paper_numbers(const std::string& name) {
  const std::vector<std::string> names = known_paper_numbers();
  if (std::find(names.begin(), names.end(), name) == names.end())
    raise("{}", unknown_name("paper_numbers", name, names));
  const fs::path path = papers_dir() / (name + ".json");
  return {read_json(path), path.string()};
}

std::vector<PaperNumbers> paper_numbers_of(const Json& manifest) {
  std::vector<PaperNumbers> papers;
  for (const Json& name : manifest.value("paper_numbers", Json::array()))
    papers.push_back(load_paper_numbers(name.get<std::string>()));
  return papers;
}

Json paper_points(const std::vector<PaperNumbers>& papers, const std::vector<Json>& records) {
  Json all = Json::array();
  for (const PaperNumbers& paper : papers) {
    Json points = Json::object();
    for (const Json& record : records)
      if (Json metrics = paper.at(record["settings"]["resolved"]); !metrics.empty())
        points[record["point"].get<std::string>()] = std::move(metrics);
    if (!points.empty())
      all.push_back({{"source", paper.source()},
                     {"hardware", paper.hardware()},
                     {"label", paper.label()},
                     {"points", std::move(points)}});
  }
  return all;
}

}  // namespace reprise::results
