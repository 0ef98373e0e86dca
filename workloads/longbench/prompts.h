// LongBench's prompt templates, read from the official configuration or from the Prompt Cache
// authors' variant of it, and filled with samples. The templates are other people's texts: they
// are not part of this repository.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/longbench/samples.h"

namespace reprise::workloads::longbench {

// A text with the fields {context} and {input}, in the notation of Python's str.format: "{{" is a
// brace.
class FieldText {
 public:
  // Throws Error for another field or a single brace; `where` names the text.
  FieldText(std::string_view text, std::string where);

  [[nodiscard]] std::string filled(std::string_view context, std::string_view input) const;
  // What stands ahead of and behind {context}. Throws Error unless it occurs exactly once.
  [[nodiscard]] std::pair<FieldText, FieldText> around_context() const;

 private:
  enum class Kind { kText, kContext, kInput };
  struct Piece {
    Kind kind;
    std::string text;
  };
  FieldText(std::vector<Piece> pieces, std::string where);

  std::vector<Piece> pieces_;
  std::string where_;
};

struct PromptTemplate {
  FieldText before;    // ahead of the context
  FieldText behind;    // behind it, still part of what is cached; empty in official templates
  FieldText question;  // the rest of the user's turn, which no other sample has
  std::string cue;     // what the model's turn begins with; empty in official templates
  int64_t most_answer_tokens = 0;
  // As the authors' program fills it: < and > of context and input become parentheses (they would
  // be markup), and the input ends after 1,000 characters.
  bool is_as_coded = false;
};

// By the datasets' names.
using PromptTemplates = std::map<std::string, PromptTemplate, std::less<>>;

// Names of datasets whose templates must be there; the others need not be. None: all 21.
using WantedDatasets = std::set<std::string, std::less<>>;

// dataset2prompt.json and dataset2maxlen.json of `folder` (LongBench/config of the official
// repository). Throws Error for a file or one of the `wanted` datasets that is missing, for a name
// that is no dataset, and for templates without {context}.
PromptTemplates load_official_templates(const std::filesystem::path& folder,
                                        const WantedDatasets& wanted = {});

// dataset_prompt.json and dataset_maxlen.json of `folder` (config of yale-sys/prompt-cache; also
// under names that begin with "config__"). Their entries for other sets than LongBench's are left
// out.
PromptTemplates load_authors_templates(const std::filesystem::path& folder,
                                       const WantedDatasets& wanted = {});

// Whichever of the two `folder` holds. Throws Error with both files' names where it holds neither,
// and where it holds both: which one is meant would be a guess.
PromptTemplates load_templates(const std::filesystem::path& folder,
                               const WantedDatasets& wanted = {});

// A prompt in its parts, to be cached one by one: before, each document and behind are the same for
// every question about these documents.
struct PromptParts {
  std::string before;
  std::vector<std::string> documents;
  std::string behind;
  std::string question;
  std::string cue;

  // The user's turn: all of it but the cue.
  [[nodiscard]] std::string text() const;
};

PromptParts fill(const PromptTemplate& prompt, const Sample& sample);

}  // namespace reprise::workloads::longbench
