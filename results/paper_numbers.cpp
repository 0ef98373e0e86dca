#include "results/paper_numbers.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "core/base/data_folders.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/lower_case.h"
#include "results/data_dir.h"
#include "results/means.h"
#include "results/placeholders.h"
#include "results/statistics.h"

namespace reprise::results {
namespace {

namespace fs = std::filesystem;

fs::path papers_dir() { return data_dir() / "results" / "papers"; }

// Removes a final carriage return and splits the line at commas.
std::vector<std::string> split(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

// Returns the value that `values` has for the text. Without one, returns the text as a number if it
// is one, else the text itself.
Value cell_of(const std::string& text, const Fields& values) {
  if (const auto known = values.find(text); known != values.end()) return known->second;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return text;
}

// True if `found` has all members of `wanted`, also inside nested objects.
bool has_all(const Value& found, const Value& wanted) {
  if (!wanted.is_fields() || !found.is_fields()) return found == wanted;
  return std::all_of(wanted.fields().begin(), wanted.fields().end(), [&](const auto& field) {
    return found.fields().contains(field.first) &&
           has_all(field_of(found.fields(), field.first), field.second);
  });
}

// Returns the path of a point's data: the workload's file, or the set in it that the setting "set"
// names.
Value file_in(const Fields& settings) {
  const Value& file = field_of(field_of(settings, "workload"), "file");
  const Value& set = field_of(settings, "set");
  if (!file.is_text() || !set.is_text() || set.text().empty()) return file;
  return (fs::path(file.text()) / set.text()).string();
}

// The names of folders and file on the path, in the papers' spelling: SentEval's folders
// STS12-en-test and STSBenchmark, and GLUE's STS-B, are "sts12" and "stsb" there. The test files of
// the STS benchmark and of SICK have no name there, because the papers call them by their folders.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : fs::path(path)) {
    std::string name = lower_case(part.string());
    if (const std::string_view end = "-en-test"; name.ends_with(end))
      name.resize(name.size() - end.size());
    if (name == "stsbenchmark" || name == "sts-b") name = "stsb";
    const bool is_test = name == "sts-test.csv" || name == "sick_test_annotated.txt";
    if (!name.empty() && !is_test) parts.push_back(name);
  }
  return parts;
}

// True if the path ends in the data set's name, wherever it lies.
bool is_same_data(const std::string& path, const std::string& name) {
  const std::vector<std::string> parts = parts_of(path), wanted = parts_of(name);
  return parts.size() >= wanted.size() &&
         std::equal(wanted.rbegin(), wanted.rend(), parts.rbegin());
}

// Reads a list whose entries are all texts. `where` is its place in the file.
std::vector<std::string> names_of(const Values& list, const std::string& where) {
  std::vector<std::string> names;
  for (const Value& name : list) {
    if (!name.is_text()) raise("{} must hold names, found {}", where, shown(name));
    names.push_back(name.text());
  }
  return names;
}

// Reads an object whose values are all texts.
std::map<std::string, std::string> texts_of(JsonObject object) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : object.fields()) texts[name] = object.string(name);
  return texts;
}

}  // namespace

PaperNumbers::PaperNumbers(const Value& json, const std::string& source) {
  JsonObject file(json, source);
  if (file.has("fixed")) fixed_ = file.object("fixed").fields();
  if (file.has("like")) {
    read_like(file.object("like"));
    file.reject_unknown();
    return;
  }
  source_ = file.string("source");
  hardware_ = file.string("hardware");
  label_ = file.string("label", "paper");
  units_ = texts_of(file.object("metrics"));
  if (file.has("mean_of")) mean_of_ = names_of(file.list("mean_of"), file.where("mean_of"));
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
  const Value &names = file.at("columns"), &rows = file.at("rows");
  if (!names.is_list() || !rows.is_list())
    raise("{} and {} must be lists", file.where("columns"), file.where("rows"));
  for (const Value& name : names.list())
    columns.push_back(name.is_text() ? name.text() : shown(name));
  for (size_t i = 0; i < rows.list().size(); ++i) {
    const std::string where = fmt::format("{} row {}", file.where("rows"), i);
    if (!rows.list()[i].is_list()) raise("{} must be a list of cells", where);
    add_row(columns, rows.list()[i].list(), where);
  }
}

void PaperNumbers::read_csv(JsonObject csv) {
  const std::string name = csv.string("file");
  const auto names = texts_of(csv.object("columns"));
  const Fields values = csv.object("values").fields();
  std::map<std::string, std::string> where;
  if (csv.has("where")) where = texts_of(csv.object("where"));
  csv.reject_unknown();
  const fs::path path = find_data(name);
  if (path.empty()) {
    missing_ = name;
    return;
  }
  std::istringstream lines(read_file(path));
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> headings = split(line);
  for (int number = 2; std::getline(lines, line); ++number) {
    std::vector<std::string> columns;
    Values cells;
    const std::vector<std::string> texts = split(line);
    bool is_wanted = true;
    for (size_t c = 0; c < std::min(texts.size(), headings.size()); ++c) {
      if (const auto wanted = where.find(headings[c]);
          wanted != where.end() && wanted->second != texts[c])
        is_wanted = false;
      const auto column = names.find(headings[c]);
      if (column == names.end()) continue;
      columns.push_back(column->second);
      cells.push_back(cell_of(texts[c], values));
    }
    if (is_wanted) add_row(columns, cells, fmt::format("{} line {}", path.string(), number));
  }
  take_medians();
}

void PaperNumbers::read_like(JsonObject like) {
  const PaperNumbers other = load_paper_numbers(like.string("file"));
  const auto names = texts_of(like.object("columns"));
  const Fields values = like.object("values").fields();
  like.reject_unknown();
  source_ = other.source_;
  hardware_ = other.hardware_;
  label_ = other.label_;
  missing_ = other.missing_;
  units_ = other.units_;
  for (const Row& theirs : other.rows_) {
    Row row{.settings = fixed_, .metrics = theirs.metrics};
    for (const auto& [there, here] : names) {
      const Value& value = field_of(theirs.settings, there);
      const auto known = value.is_text() ? values.find(value.text()) : values.end();
      row.settings[here] = known == values.end() ? value : known->second;
    }
    rows_.push_back(std::move(row));
  }
}

// Merges rows with equal settings, since a file may list every repetition: keeps the first row,
// with the medians of all.
void PaperNumbers::take_medians() {
  std::vector<Row> rows;
  std::map<std::string, std::pair<size_t, std::map<std::string, std::vector<double>>>> seen;
  for (Row& row : rows_) {
    const auto [entry, is_new] = seen.try_emplace(json_text(row.settings), rows.size(),
                                                  std::map<std::string, std::vector<double>>{});
    for (const auto& [name, metric] : row.metrics)
      entry->second.second[name].push_back(metric.value);
    if (is_new) rows.push_back(std::move(row));
  }
  for (const auto& [settings, entry] : seen)
    for (const auto& [metric, values] : entry.second)
      rows[entry.first].metrics[metric].value = summarize(values).median;
  rows_ = std::move(rows);
}

void PaperNumbers::add_row(const std::vector<std::string>& columns, const Values& cells,
                           const std::string& where) {
  if (cells.size() != columns.size())
    raise("{} has {} cells for {} columns", where, cells.size(), columns.size());
  Row row{.settings = fixed_, .metrics = {}};
  for (size_t c = 0; c < cells.size(); ++c) {
    if (cells[c].is_null()) continue;
    if (const auto unit = units_.find(columns[c]); unit == units_.end()) {
      row.settings[columns[c]] = cells[c];
    } else if (cells[c].is_number()) {
      row.metrics[columns[c]] = {.value = cells[c].number(), .unit = unit->second};
    } else {
      raise("{}: {} must be a number, found {}", where, columns[c], shown(cells[c]));
    }
  }
  rows_.push_back(std::move(row));
}

void PaperNumbers::add_speedups(JsonObject baseline) {
  const std::string method = baseline.string("method"), time = baseline.string("time"),
                    speedup = baseline.string("speedup");
  baseline.reject_unknown();
  for (Row& row : rows_) {
    Fields settings = row.settings;
    settings["method"] = method;
    const Row* base = find(settings);
    if (base == nullptr) continue;
    const Metric* of_row = find_metric(row.metrics, time);
    const Metric* of_base = find_metric(base->metrics, time);
    if (of_row != nullptr && of_base != nullptr)
      row.metrics[speedup] = {.value = of_base->value / of_row->value, .unit = "ratio"};
  }
}

const PaperNumbers::Row* PaperNumbers::find(const Fields& settings) const {
  // A paper gives names of models and data sets, a point has paths: converts them to names.
  Fields named = settings;
  if (const Value& model = field_of(settings, "model"); model.is_text())
    named["model"] = short_model_name(model.text());
  const Value file = file_in(settings);
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
    const Value wanted = file_in(row.settings);
    if (file.is_text() && wanted.is_text())
      named["workload"].fields()["file"] = is_same_data(file.text(), wanted.text()) ? wanted : file;
    return has_all(named, row.settings);
  });
  return found == rows_.end() ? nullptr : &*found;
}

void PaperNumbers::keep_means_of(const std::vector<std::string>& sets) {
  const bool are_the_papers =
      sets.size() == mean_of_.size() &&
      std::all_of(mean_of_.begin(), mean_of_.end(), [&](const std::string& name) {
        return std::any_of(sets.begin(), sets.end(),
                           [&](const std::string& set) { return is_same_data(set, name); });
      });
  if (!are_the_papers)
    std::erase_if(rows_, [](const Row& row) { return file_in(row.settings) == kMeanSetting; });
}

Metrics PaperNumbers::at(const Fields& settings) const {
  const Row* row = find(settings);
  return row == nullptr ? Metrics() : row->metrics;
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

namespace {

// The data sets over which the manifest takes means; none if it takes no means.
std::vector<std::string> averaged_sets(const Manifest& manifest) {
  std::vector<std::string> sets;
  const auto values = manifest.settings.axes.find(manifest.mean_over);
  if (values == manifest.settings.axes.end()) return sets;
  for (const Value& value : values->second)
    if (value.is_text()) sets.push_back(value.text());
  return sets;
}

}  // namespace

std::vector<PaperNumbers> paper_numbers_of(const Manifest& manifest) {
  const std::vector<std::string> sets = averaged_sets(manifest);
  std::vector<PaperNumbers> papers;
  std::set<std::string> labels;
  for (const std::string& name : manifest.paper_numbers) {
    PaperNumbers& paper = papers.emplace_back(load_paper_numbers(name));
    paper.keep_means_of(sets);
    const std::string label = paper.label();
    for (int number = 2; !labels.insert(paper.label()).second; ++number)
      paper.set_label(fmt::format("{} {}", label, number));
  }
  return papers;
}

std::optional<double> PaperPoints::value(const Record& record, const std::string& metric) const {
  const auto point = points.find(record.point);
  if (point == points.end()) return std::nullopt;
  const Metric* found = find_metric(point->second, metric);
  return found == nullptr ? std::nullopt : std::optional(found->value);
}

bool PaperPoints::has(const std::string& metric) const {
  return std::any_of(points.begin(), points.end(),
                     [&](const auto& point) { return point.second.contains(metric); });
}

namespace {

// Returns the resolved settings, but with the method's options as requested, since requested
// options may name a preset and resolved options do not.
Fields settings_of(const Record& record) {
  Fields settings = record.settings.resolved;
  const Value& requested = field_of(record.settings.requested, "method_options");
  if (!requested.is_fields()) return settings;
  Value& options = settings["method_options"];
  if (!options.is_fields()) options = Fields();
  for (const auto& [name, value] : requested.fields()) options.fields()[name] = value;
  return settings;
}

}  // namespace

std::vector<PaperPoints> paper_points(const std::vector<PaperNumbers>& papers,
                                      const std::vector<Record>& records) {
  std::vector<PaperPoints> all;
  for (const PaperNumbers& paper : papers) {
    PaperPoints found{
        .source = paper.source(), .hardware = paper.hardware(), .label = paper.label()};
    for (const Record& record : records)
      if (Metrics metrics = paper.at(settings_of(record)); !metrics.empty())
        found.points[record.point] = std::move(metrics);
    if (!found.points.empty()) all.push_back(std::move(found));
  }
  return all;
}

}  // namespace reprise::results
