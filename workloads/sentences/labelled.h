// Sentences with one of two labels, such as SST-2's: for a probe of what their vectors know.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reprise::workloads::sentences {

struct LabelledText {
  std::string text;  // not empty
  bool is_positive = false;
  int64_t line = 1;  // of its file
};

// A table of a sentence and its label, 0 or 1, as UCI's "sentiment labelled sentences" have it, or
// below a heading with "sentence" and "label" (SST-2 of GLUE). Throws Error with file and line for
// fewer columns, an empty sentence and another label, and for a file in which all labels are one.
std::vector<LabelledText> load_labelled(const std::filesystem::path& file);

struct LabelledSet {
  std::string name;  // see short_name()
  std::vector<LabelledText> texts;
};

// The sets of a file, or of a folder, by name: every file in it whose name has a role (see
// published.h: "train.tsv", "sentiment-dev") or ends in "_labelled.txt", but for tables whose
// heading has "sentence" and no "label" (GLUE's tests). Throws Error for a folder without any.
std::vector<LabelledSet> load_labelled_sets(const std::filesystem::path& place);

}  // namespace reprise::workloads::sentences
