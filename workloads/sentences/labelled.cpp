#include "workloads/sentences/labelled.h"

#include <algorithm>

#include "core/base/error.h"
#include "workloads/sentences/published.h"
#include "workloads/sentences/table_lines.h"

namespace reprise::workloads::sentences {
namespace {

namespace fs = std::filesystem;

struct Columns {
  size_t text = 0, label = 1;
  bool has_heading = false;
};

Columns columns_of(const TableLine& first) {
  const auto place = [&](std::string_view name) {
    return static_cast<size_t>(std::find(first.columns.begin(), first.columns.end(), name) -
                               first.columns.begin());
  };
  const size_t text = place("sentence"), label = place("label"), none = first.columns.size();
  return text < none && label < none ? Columns{text, label, true} : Columns{};
}

bool is_labelled(const fs::path& file) {
  return role_of(file) != FileRole::kAny || file.filename().string().ends_with("_labelled.txt");
}

bool hides_labels(const fs::path& file) {
  const TableLine heading = read_table_lines(file).front();
  return has_column(heading, "sentence") && !has_column(heading, "label");
}

}  // namespace

std::vector<LabelledText> load_labelled(const fs::path& file) {
  const std::vector<TableLine> lines = read_table_lines(file);
  const Columns columns = columns_of(lines.front());
  std::vector<LabelledText> texts;
  int64_t positive = 0;
  for (size_t i = columns.has_heading ? 1 : 0; i < lines.size(); ++i) {
    const TableLine& line = lines[i];
    const std::string where = fmt::format("{}:{}", file.string(), line.number);
    if (line.columns.size() <= std::max(columns.text, columns.label))
      raise("{}: {} columns, expected a sentence and its label", where, line.columns.size());
    const std::string label = trimmed(line.columns[columns.label]);
    if (label != "0" && label != "1")
      raise("{}: the label is \"{}\", expected 0 or 1", where, label.substr(0, 100));
    texts.push_back({trimmed(line.columns[columns.text]), label == "1", line.number});
    if (texts.back().text.empty()) raise("{}: the sentence is empty", where);
    positive += texts.back().is_positive ? 1 : 0;
  }
  if (positive == 0 || positive == std::ssize(texts))
    raise("{}: all {} labels are one; a probe takes both", file.string(), texts.size());
  return texts;
}

std::vector<LabelledSet> load_labelled_sets(const fs::path& place) {
  std::error_code error;
  if (!fs::is_directory(place, error))
    return {LabelledSet{short_name(place), load_labelled(place)}};
  std::vector<LabelledSet> sets;
  for (const fs::path& file : files_of(place, is_labelled))
    if (!hides_labels(file)) sets.push_back({short_name(file), load_labelled(file)});
  if (sets.empty())
    raise(
        "{} holds no labelled sentences: no file with train, dev or test in its name, nor "
        "*_labelled.txt; name a file",
        place.string());
  return sets;
}

}  // namespace reprise::workloads::sentences
