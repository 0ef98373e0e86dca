// A question over long documents, and the official files of LongBench that hold them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "workloads/longbench/documents.h"

namespace reprise::workloads::longbench {

struct Sample {
  std::string id;
  std::string dataset;  // as datasets.h names it
  std::string language;
  std::string input;  // the question, or the beginning of what is to be completed; may be empty
  // The context, cut into the documents it consists of: their concatenation is the context. One
  // document where it was not cut.
  std::vector<std::string> documents;
  std::vector<std::string> answers;  // each is right; at least one
  std::vector<std::string> classes;  // of a classification; else empty
  int64_t length = 0;                // of the context, in the dataset's own measure: words, or
                                     // characters in Chinese
  // The documents that the answer rests on, ascending, where the source tells; else empty.
  std::vector<size_t> supporting;

  [[nodiscard]] std::string context() const;
};

// The lines of an official file, `context` as one document. Throws Error with file and line for a
// line that is no JSON object, a key that is missing, unknown or of another type, an unknown
// dataset, an empty context or list of answers, and for a file without a line.
std::vector<Sample> load_samples(const std::filesystem::path& path);

// Cuts the context anew by `rule`. Throws Error as cut_documents(), with dataset and id. What was
// known of `supporting` documents is dropped.
void recut(Sample& sample, const DocumentRule& rule);

}  // namespace reprise::workloads::longbench
