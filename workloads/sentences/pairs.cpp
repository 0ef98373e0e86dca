#include "workloads/sentences/pairs.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "workloads/sentences/table_lines.h"

namespace reprise::workloads::sentences {
namespace {

namespace fs = std::filesystem;

constexpr double kMostAlike = 5;
constexpr std::string_view kInput = ".input.", kScores = ".gs.";

// The columns of a table and the number of its heading lines.
struct Layout {
  size_t first = 0, second = 0, score = 0;
  size_t heading = 0;
  [[nodiscard]] size_t columns() const { return std::max({first, second, score}) + 1; }
};

std::optional<size_t> column_named(const TableLine& heading,
                                   std::initializer_list<std::string_view> names) {
  for (size_t i = 0; i < heading.columns.size(); ++i)
    for (const std::string_view name : names)
      if (heading.columns[i] == name) return i;
  return std::nullopt;
}

Layout layout_of(const TableLine& line, const fs::path& file) {
  const auto first = column_named(line, {"sentence1", "sentence_A"});
  const auto second = column_named(line, {"sentence2", "sentence_B"});
  const auto score = column_named(line, {"score", "relatedness_score"});
  if (first && second && score)
    return {.first = *first, .second = *second, .score = *score, .heading = 1};
  if (first || second)
    raise("{}:{}: a heading without {}", file.string(), line.number,
          score ? "both sentences" : "score or relatedness_score");
  if (line.columns.size() == 3) return {.first = 1, .second = 2, .score = 0};
  if (line.columns.size() >= 7) return {.first = 5, .second = 6, .score = 4};
  raise(
      "{}:{}: {} columns; pairs stand in 3 (score, sentence, sentence), in 7 as in the STS "
      "benchmark, or below a heading with sentence1, sentence2 and score",
      file.string(), line.number, line.columns.size());
}

// Adds the pair, or counts it as unscored if its score is empty.
void add_pair(const TableLine& line, size_t first, size_t second, std::string_view score,
              const std::string& where, PairSet& set) {
  SentencePair pair{.first = trimmed(line.columns[first]),
                    .second = trimmed(line.columns[second]),
                    .line = line.number};
  if (pair.first.empty() || pair.second.empty()) raise("{}: a sentence is empty", where);
  if (const std::string given = trimmed(score); given.empty()) {
    ++set.unscored;
  } else {
    pair.score = number_of(given, 0, kMostAlike, where);
    set.pairs.push_back(std::move(pair));
  }
}

void require_columns(const TableLine& line, size_t columns, const std::string& where) {
  if (line.columns.size() < columns)
    raise("{}: {} columns, expected {}", where, line.columns.size(), columns);
}

void read_table(const fs::path& file, PairSet& set) {
  const std::vector<TableLine> lines = read_table_lines(file);
  const Layout layout = layout_of(lines.front(), file);
  for (size_t i = layout.heading; i < lines.size(); ++i) {
    const std::string where = fmt::format("{}:{}", file.string(), lines[i].number);
    require_columns(lines[i], layout.columns(), where);
    add_pair(lines[i], layout.first, layout.second, lines[i].columns[layout.score], where, set);
  }
}

// Reads SemEval's files. The score of each pair is in the same line of a second file. The pair has
// no score if that line is empty, or if the second file ends before it.
void read_official(const fs::path& input, PairSet& set) {
  const fs::path gold = scores_beside(input);
  const std::vector<TableLine> sentences = read_table_lines(input);
  const std::vector<TableLine> scores = read_table_lines(gold);
  if (scores.size() > sentences.size())
    raise("{} has {} lines and {} has {}: they belong together line by line", gold.string(),
          scores.size(), input.string(), sentences.size());
  for (size_t i = 0; i < sentences.size(); ++i) {
    const std::string where = fmt::format("{}:{}", input.string(), sentences[i].number);
    require_columns(sentences[i], 2, where);
    add_pair(sentences[i], 0, 1, i < scores.size() ? scores[i].columns.front() : "",
             i < scores.size() ? fmt::format("{}:{}", gold.string(), scores[i].number) : where,
             set);
  }
}

bool is_of_pairs(const fs::path& file) {
  const std::string name = file.filename().string();
  const auto is = [&](std::string_view begin, std::string_view end) {
    return name.starts_with(begin) && name.ends_with(end);
  };
  return is("", ".tsv") || is("sts-", ".csv") || is("SICK_", ".txt") ||
         !scores_beside(file).empty();
}

bool hides_scores(const fs::path& file) {
  const TableLine heading = read_table_lines(file).front();
  return has_column(heading, "sentence1") && has_column(heading, "sentence2") &&
         !has_column(heading, "score");
}

}  // namespace

// The task of 2016 names its files STS2016.input.NAME.txt.
fs::path scores_beside(const fs::path& file) {
  std::string name = file.filename().string();
  const size_t at = name.find(kInput);
  if (!name.starts_with("STS") || !name.ends_with(".txt") || at == std::string::npos) return {};
  return file.parent_path() / name.replace(at, kInput.size(), kScores);
}

PairSet load_pairs(const fs::path& file) {
  PairSet set{.name = short_name(file)};
  if (!scores_beside(file).empty()) {
    read_official(file, set);
  } else {
    read_table(file, set);
  }
  if (set.pairs.size() < 2)
    raise("{} holds {} pairs with a score, and an order takes two", file.string(),
          set.pairs.size());
  return set;
}

std::vector<PairSet> load_pair_sets(const fs::path& place) {
  std::error_code error;
  if (!fs::is_directory(place, error)) return {load_pairs(place)};
  std::vector<PairSet> sets;
  for (const fs::path& file : files_of(place, is_of_pairs))
    if (!hides_scores(file)) sets.push_back(load_pairs(file));
  if (sets.empty())
    raise(
        "{} holds no pairs: neither *.tsv nor STS.input.*.txt, sts-*.csv or SICK_*.txt with "
        "scores; name a file",
        place.string());
  return sets;
}

}  // namespace reprise::workloads::sentences
