// Cuts a sample's context into the documents it was made from, so that each can be a prompt module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::longbench {

// Rule for the places in a context at which its documents begin.
struct DocumentRule {
  enum class Kind {
    kWhole,  // the whole context is one document
    // The first document begins at the line that begins with `label` and the number 1, the second
    // at the line with the number 2, and so on. A colon or the line's end follows the number:
    // "Passage 1:", "Paragraph 1: ...".
    kNumbered,
    kLabelled,    // at each line that begins with `label`: few-shot examples
    kParagraphs,  // after each run of blank lines
  };
  Kind kind = Kind::kWhole;
  std::string_view label = {};
};

// Returns the documents in order; concatenated they are the context, and none is empty. Blank lines
// belong to the document before them. Text before the first label is a document of its own unless
// it is blank. Throws Error for an empty context, and if no label is found.
std::vector<std::string> cut_documents(std::string_view context, const DocumentRule& rule);

}  // namespace reprise::workloads::longbench
