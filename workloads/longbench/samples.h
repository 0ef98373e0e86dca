// A question over long documents, and the reader of LongBench's official files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "workloads/longbench/documents.h"

namespace reprise::workloads::longbench {

struct Sample {
  std::string id;
  std::string dataset;  // one of the names in datasets.h
  std::string language;
  // The question, or the beginning of a text to complete; may be empty.
  std::string input;
  // The documents whose concatenation is the context. A context that was not cut is one document.
  std::vector<std::string> documents;
  std::vector<std::string> answers;  // each is right; at least one
  std::vector<std::string> classes;  // the classes of a classification set, else empty
  // Length of the context as the dataset counts it: words, or characters for Chinese.
  int64_t length = 0;
  // Indices of the documents on which the answer rests, ascending; empty if the source does not
  // say.
  std::vector<size_t> supporting;

  [[nodiscard]] std::string context() const;
};

// Reads the lines of an official file, with `context` as one document. Throws Error with file and
// line for a line that is no JSON object, a key that is missing, unknown or of another type, an
// unknown dataset, an empty context or list of answers, and for an empty file.
std::vector<Sample> load_samples(const std::filesystem::path& path);

// Cuts the context again by `rule` and clears `supporting`. Throws Error as cut_documents() does,
// with dataset and id.
void recut(Sample& sample, const DocumentRule& rule);

}  // namespace reprise::workloads::longbench
