#include "experiments/kinds/sentences/sentence_sets.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/sentence/cosine.h"
#include "core/sentence/linear_probe.h"
#include "experiments/kinds/shared/places.h"
#include "results/spearman.h"
#include "workloads/questions/mmlu_groups.h"
#include "workloads/sentences/labelled.h"
#include "workloads/sentences/pairs.h"
#include "workloads/sentences/published.h"
#include "workloads/sentences/split.h"

namespace reprise::experiments {
namespace {

namespace sets = workloads::sentences;

constexpr double kIntervalLevel = 0.95;

template <typename Item>
void keep_first(std::vector<Item>& items, int64_t count) {
  if (count > 0 && std::ssize(items) > count) items.resize(static_cast<size_t>(count));
}

// Returns for each file whether its texts are queries, by the files' names (sets::asked_files()).
template <typename Set>
std::vector<bool> asked_of(const std::vector<Set>& files) {
  std::vector<sets::FileRole> roles;
  for (const Set& file : files) roles.push_back(sets::role_of(file.name));
  return sets::asked_files(roles);
}

struct Items {
  size_t count = 0;
  sets::TextsOf texts_of;
  std::vector<bool> is_asked = {};  // empty: the files do not mark queries
  bool in_order = false;            // database and training take the first items that are not asked
};

constexpr const char* kQueries = "queries";
constexpr const char* kUnused = "unused";

// Returns the shares of all parts. "database" and "training" have the shares in `choice`; the parts
// in `others` divide the rest in proportion to their shares. If the files mark queries, "queries"
// gets no share.
std::vector<sets::SplitShare> shares_of(const SentenceChoice& choice, bool is_published,
                                        std::vector<sets::SplitShare> others) {
  const double rest = 1 - choice.database_share - choice.training_share;
  if (rest < 1e-6)
    raise(
        "database_share {} and training_share {} leave nothing to be asked: together they must "
        "be below 1",
        choice.database_share, choice.training_share);
  if (is_published)
    std::erase_if(others, [](const sets::SplitShare& part) { return part.name == kQueries; });
  if (others.empty()) others.push_back({.name = kUnused, .share = 1, .may_be_empty = true});
  double total = 0;
  for (const sets::SplitShare& part : others) total += part.share;
  std::vector<sets::SplitShare> parts;
  if (choice.database_share > 0) parts.push_back({"database", choice.database_share});
  if (choice.training_share > 0) parts.push_back({"training", choice.training_share});
  for (sets::SplitShare& part : others) {
    part.share *= rest / total;
    parts.push_back(std::move(part));
  }
  return parts;
}

// Divides the items into parts and describes them in `set`.
std::vector<sets::Split> parts_of(const SentenceChoice& choice, const Items& items,
                                  const std::vector<sets::SplitShare>& others, SentenceSet& set) {
  const bool is_published =
      std::find(items.is_asked.begin(), items.is_asked.end(), true) != items.is_asked.end();
  const auto shares = shares_of(choice, is_published, others);
  auto parts = is_published ? sets::split_as_published(
                                  items.count, items.texts_of, items.is_asked, shares,
                                  items.in_order ? std::nullopt : std::optional(choice.seed))
                            : sets::split_by_text(items.count, items.texts_of, shares, choice.seed);
  std::erase_if(parts, [](const sets::Split& part) { return part.name == kUnused; });
  for (const sets::Split& part : parts) set.splits.push_back(part.description);
  return parts;
}

// Returns the list for the texts of the parts "database" and "training", which are set apart for
// methods; null for other parts.
std::vector<std::string>* set_apart(SentenceSet& set, const sets::Split& part) {
  if (part.name == "database") return &set.database;
  return part.name == "training" ? &set.training : nullptr;
}

SentenceSet load_pairs(const std::string& path, const SentenceChoice& choice) {
  SentenceSet set;
  std::vector<sets::SentencePair> pairs;
  std::vector<sets::PairSet> files = sets::load_pair_sets(path);
  const std::vector<bool> asked = asked_of(files);
  Items items{.texts_of = [&](size_t item) {
    return std::vector<std::string_view>{pairs[item].first, pairs[item].second};
  }};
  for (size_t f = 0; f < files.size(); ++f) {
    keep_first(files[f].pairs, choice.items);
    if (choice.edits_texts)
      for (sets::SentencePair& pair : files[f].pairs)
        for (std::string* text : {&pair.first, &pair.second}) *text = edited_text(std::move(*text));
    pairs.insert(pairs.end(), files[f].pairs.begin(), files[f].pairs.end());
    items.is_asked.resize(pairs.size(), asked[f]);
    set.unscored += files[f].unscored;
  }
  items.count = pairs.size();
  for (const sets::Split& part : parts_of(choice, items, {{kQueries, 1}}, set)) {
    std::vector<std::string>* apart = set_apart(set, part);
    for (const size_t item : part.items) {
      auto& texts = apart != nullptr ? *apart : set.texts;
      texts.push_back(pairs[item].first);
      texts.push_back(pairs[item].second);
      if (apart == nullptr) set.scores.push_back(pairs[item].score);
    }
  }
  if (set.scores.size() < 2)
    raise("{} leaves {} pairs to be asked, and an order takes two", path, set.scores.size());
  return set;
}

// A probe cannot learn from texts that all have the same label.
void require_both_labels(const SentenceSet& set, const std::string& path,
                         const SentenceChoice& choice) {
  const auto positive = std::count_if(set.probe.begin(), set.probe.end(),
                                      [&](size_t text) { return set.labels[text] != 0; });
  if (!set.has_head && (positive == 0 || positive == std::ssize(set.probe)))
    raise(
        "{}: the {} texts that the probe learns from all have label {}, and it takes both: read "
        "more texts (items {}; 0: all), or set fewer apart (database_share {}, training_share {})",
        path, set.probe.size(), positive == 0 ? 0 : 1, choice.items, choice.database_share,
        choice.training_share);
}

SentenceSet load_labelled(const std::string& path, const SentenceChoice& choice) {
  SentenceSet set;
  std::vector<sets::LabelledText> texts;
  std::vector<sets::LabelledSet> files = sets::load_labelled_sets(path);
  const std::vector<bool> asked = asked_of(files);
  Items items{
      .texts_of = [&](size_t item) { return std::vector<std::string_view>{texts[item].text}; }};
  for (size_t f = 0; f < files.size(); ++f) {
    keep_first(files[f].texts, choice.items);
    if (choice.edits_texts)
      for (sets::LabelledText& item : files[f].texts) item.text = edited_text(std::move(item.text));
    texts.insert(texts.end(), files[f].texts.begin(), files[f].texts.end());
    items.is_asked.resize(texts.size(), asked[f]);
  }
  items.count = texts.size();
  set.has_head = choice.has_head;
  const std::vector<sets::SplitShare> others =
      choice.has_head ? std::vector<sets::SplitShare>{{kQueries, 1}}
                      : std::vector<sets::SplitShare>{{"probe", 0.8}, {kQueries, 0.2}};
  for (const sets::Split& part : parts_of(choice, items, others, set)) {
    std::vector<std::string>* apart = set_apart(set, part);
    for (const size_t item : part.items) {
      if (apart != nullptr) {
        apart->push_back(texts[item].text);
        continue;
      }
      (part.name == "probe" ? set.probe : set.queries).push_back(set.texts.size());
      set.texts.push_back(texts[item].text);
      set.labels.push_back(texts[item].is_positive ? 1 : 0);
    }
  }
  require_both_labels(set, path, choice);
  return set;
}

// Loads MMLU's questions. Each text is a complete prompt; the next token is the letter of a choice.
SentenceSet load_mmlu(const std::string& path, const SentenceChoice& choice) {
  SentenceSet set;
  auto items = workloads::questions::load_mmlu_group(path, choice.group, choice.mmlu);
  keep_first(items, choice.items);
  std::vector<bool> is_asked;
  if (choice.database_split != kSplitOfAsked && choice.database_split != choice.mmlu.split) {
    is_asked.resize(items.size(), true);
    workloads::questions::MmluOptions stored = choice.mmlu;
    stored.split = choice.database_split;
    auto others = workloads::questions::load_mmlu_group(path, choice.group, stored);
    keep_first(others, choice.items);
    items.insert(items.end(), others.begin(), others.end());
    is_asked.resize(items.size(), false);
  }
  for (const std::string& letter : items.front().choices)
    set.choices.push_back(choice.has_bare_letters ? letter : items.front().lead + letter);
  // A space before the letter is part of the letter's token, so it is left out of the text. A line
  // break is a token of its own.
  const std::string lead = items.front().lead == " " ? "" : items.front().lead;
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(item.text() + lead);
  const Items all{
      .count = texts.size(),
      .texts_of = [&](size_t item) { return std::vector<std::string_view>{texts[item]}; },
      .is_asked = std::move(is_asked),
      .in_order = true};  // as AttnCache's released code, which stores the first prompts
  for (const sets::Split& part : parts_of(choice, all, {{kQueries, 1}}, set)) {
    std::vector<std::string>* apart = set_apart(set, part);
    for (const size_t item : part.items) {
      (apart != nullptr ? *apart : set.texts).push_back(texts[item]);
      if (apart != nullptr) continue;
      const auto& choices = items[item].choices;
      set.answers.push_back(static_cast<size_t>(
          std::find(choices.begin(), choices.end(), items[item].answers.front()) -
          choices.begin()));
    }
  }
  return set;
}

SentenceSet load_parts(const Workload& workload, const SentenceChoice& choice) {
  const std::string path = resolve_path(workload.file);
  if (workload.name == "sentence_pairs") return load_pairs(path, choice);
  if (workload.name == "sentiment") return load_labelled(path, choice);
  if (workload.name == "mmlu") return load_mmlu(path, choice);
  raise("{}", unknown_name("workload of sentences", workload.name, names_of(sentence_workloads())));
}

SentenceScore score_pairs(const SentenceSet& set, std::span<const float> vectors, size_t width,
                          uint64_t seed) {
  std::vector<double> cosines;
  for (size_t pair = 0; pair < set.scores.size(); ++pair)
    cosines.push_back(sentence::cosine(vectors.subspan(2 * pair * width, width),
                                       vectors.subspan((2 * pair + 1) * width, width)));
  return {
      .value = results::spearman(cosines, set.scores),
      .interval = results::bootstrap_spearman(
          cosines, set.scores, {.confidence = kIntervalLevel, .resamples = 2000, .seed = seed})};
}

// Copies of the vectors and labels of the texts with the given indices.
struct Chosen {
  Chosen(const SentenceSet& set, std::span<const float> all, size_t width,
         const std::vector<size_t>& texts) {
    for (const size_t text : texts) {
      const auto vector = all.subspan(text * width, width);
      vectors.insert(vectors.end(), vector.begin(), vector.end());
      labels.push_back(set.labels[text]);
    }
    data = {.vectors = vectors, .labels = labels, .width = static_cast<int64_t>(width)};
  }
  Chosen(const Chosen&) = delete;  // `data` points into the other members
  std::vector<float> vectors;
  std::vector<uint8_t> labels;
  sentence::ProbeData data;
};

SentenceScore share_of(int64_t right, int64_t asked) {
  return {.value = static_cast<double>(right) / static_cast<double>(asked),
          .interval = results::wilson_interval(right, asked, kIntervalLevel)};
}

// The answer to a question is the choice with the largest logit, the first of equal ones.
SentenceScore score_answers(const SentenceSet& set, std::span<const float> logits, size_t width) {
  int64_t right = 0;
  for (size_t text = 0; text < set.answers.size(); ++text) {
    const auto of_text = logits.subspan(text * width, width);
    const auto best = std::max_element(of_text.begin(), of_text.end()) - of_text.begin();
    right += best == static_cast<ptrdiff_t>(set.answers[text]) ? 1 : 0;
  }
  return share_of(right, std::ssize(set.answers));
}

// The answer is the label with the larger logit; label 0 if both logits are equal.
SentenceScore score_head(const SentenceSet& set, std::span<const float> logits) {
  int64_t right = 0;
  for (const size_t text : set.queries) {
    const bool is_positive = logits[2 * text + 1] > logits[2 * text];
    right += is_positive == (set.labels[text] != 0) ? 1 : 0;
  }
  return share_of(right, std::ssize(set.queries));
}

SentenceScore score_labels(const SentenceSet& set, std::span<const float> vectors, size_t width) {
  if (set.has_head) return score_head(set, vectors);
  const Chosen probe(set, vectors, width, set.probe), queries(set, vectors, width, set.queries);
  const int64_t right = sentence::LinearProbe::fit(probe.data).right(queries.data);
  return share_of(right, std::ssize(set.queries));
}

}  // namespace

std::vector<workloads::WorkloadInfo> sentence_workloads() {
  return {{.name = "sentence_pairs",
           .summary = "pairs that people have scored (STS, SICK): a file, or a folder of *.tsv and "
                      "STS.input.*.txt; Spearman's correlation of cosine and score",
           .takes_file = true},
          {.name = "sentiment",
           .summary =
               "sentences with a label, 0 or 1 (SST-2); right answers of the model's own head, or "
               "of a linear probe where it has none",
           .takes_file = true},
          {.name = "mmlu",
           .summary = "a folder of SUBJECT_test.csv; questions whose likeliest letter is right",
           .takes_file = true}};
}

std::string edited_text(std::string text) {
  constexpr std::string_view kEnds = ".?\"'";
  if (!text.empty() && kEnds.find(text.back()) == std::string_view::npos) text += '.';
  std::replace(text.begin(), text.end(), '"', '\'');
  if (!text.empty() && text.back() == '?') text.back() = '.';
  return text;
}

SentenceSet load_sentences(const Workload& workload, const SentenceChoice& choice) {
  SentenceSet set = load_parts(workload, choice);
  if (!choice.stores_asked) return set;
  const size_t apart = set.scores.empty() ? 1 : 2;
  set.database.clear();
  for (size_t text = 0; text < set.texts.size(); text += apart)
    set.database.push_back(set.texts[text]);
  set.splits.push_back(
      fmt::format("{} stored texts are asked too: contamination", set.database.size()));
  return set;
}

SentenceScore score_sentences(const SentenceSet& set, std::span<const float> vectors, int64_t width,
                              uint64_t seed) {
  REPRISE_CHECK(std::ssize(vectors) == std::ssize(set.texts) * width, "{} numbers for {} texts",
                vectors.size(), set.texts.size());
  const auto numbers = static_cast<size_t>(width);
  for (size_t i = 0; i < vectors.size(); ++i)
    if (!std::isfinite(vectors[i]))
      raise("text {}: the model's {} not finite; its weights or inputs are corrupt",
            i / numbers + 1, set.choices.empty() && !set.has_head ? "vector is" : "logits are");
  if (!set.answers.empty()) return score_answers(set, vectors, numbers);
  if (!set.labels.empty()) return score_labels(set, vectors, numbers);
  return score_pairs(set, vectors, numbers, seed);
}

}  // namespace reprise::experiments
