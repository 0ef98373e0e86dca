// Sentences with one of two labels, such as SST-2, for probing what sentence vectors express.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reprise::workloads::sentences {

struct LabelledText {
  std::string text;  // not empty
  bool is_positive = false;
  int64_t line = 1;  // line in its file
};

// Loads a table of sentences and labels. It has no heading (UCI's "sentiment labelled sentences"),
// or one with "sentence" and "label" (GLUE's SST-2). Throws Error with file and line for too few
// columns, an empty sentence and a label other than 0 and 1, and if all labels are equal.
std::vector<LabelledText> load_labelled(const std::filesystem::path& file);

struct LabelledSet {
  std::string name;  // see short_name()
  std::vector<LabelledText> texts;
};

// Loads a file, or the files of a folder sorted by name: those whose name states a role
// (published.h, e.g. "train.tsv", "sentiment-dev") or ends in "_labelled.txt". Tables with
// "sentence" but no "label" (GLUE's tests) are skipped. Throws Error for a folder without any.
std::vector<LabelledSet> load_labelled_sets(const std::filesystem::path& place);

}  // namespace reprise::workloads::sentences
