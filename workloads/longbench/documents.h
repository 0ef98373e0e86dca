// Cutting a sample's context into the documents it was put together from, so that each can be a
// prompt module of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::longbench {

// Where documents begin.
struct DocumentRule {
  enum class Kind {
    kWhole,       // the context is one document
    kNumbered,    // at a line `label` 1, then `label` 2 and so on, each followed by a colon or by
                  // the line's end: "Passage 1:", "Paragraph 1: ..."
    kLabelled,    // at each line that begins with `label`: few-shot examples
    kParagraphs,  // behind each run of blank lines
  };
  Kind kind = Kind::kWhole;
  std::string_view label = {};
};

// The documents in order; all together they are the context, byte for byte, and none is empty.
// Blank lines between two belong to the first of them. A text ahead of the first label is part of
// the first document where it is blank, else a document of its own. Throws Error for an empty
// context, and where no label is found: one document in place of many would be measured as such.
std::vector<std::string> cut_documents(std::string_view context, const DocumentRule& rule);

}  // namespace reprise::workloads::longbench
