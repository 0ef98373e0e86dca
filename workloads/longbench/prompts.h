// LongBench's prompt templates, read from the official configuration or from the Prompt Cache
// authors' variant, and filled with samples. The templates are not part of this repository.
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

// A text with the fields {context} and {input}, written as for Python's str.format ("{{" is a
// brace).
class FieldText {
 public:
  // Throws Error for a field other than these two and for a single brace. `where` names the text in
  // errors.
  FieldText(std::string_view text, std::string where);

  [[nodiscard]] std::string filled(std::string_view context, std::string_view input) const;
  // Returns the text before and after {context}. Throws Error unless it occurs exactly once.
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
  FieldText before;    // before the context
  FieldText behind;    // after the context, still cached; empty in official templates
  FieldText question;  // rest of the user's turn; differs between samples
  // The beginning of the model's turn; empty in official templates.
  std::string cue;
  int64_t most_answer_tokens = 0;
  // True: fill() fills the template as the Prompt Cache authors' program does. < and > in context
  // and input, which would be markup, become parentheses, and the input ends after 1,000
  // characters.
  bool is_as_coded = false;
};

// Templates by dataset name.
using PromptTemplates = std::map<std::string, PromptTemplate, std::less<>>;

// Names of datasets whose templates are required; empty for all 21.
using WantedDatasets = std::set<std::string, std::less<>>;

// Reads dataset2prompt.json and dataset2maxlen.json of `folder` (LongBench/config of the official
// repository). Throws Error for a file or wanted dataset that is missing, for an unknown dataset,
// and for templates without {context}.
PromptTemplates load_official_templates(const std::filesystem::path& folder,
                                        const WantedDatasets& wanted = {});

// Reads dataset_prompt.json and dataset_maxlen.json of `folder` (config of yale-sys/prompt-cache).
// The files' names may also begin with "config__". Entries for sets outside LongBench are ignored.
PromptTemplates load_authors_templates(const std::filesystem::path& folder,
                                       const WantedDatasets& wanted = {});

// Reads the official or the authors' templates, whichever `folder` contains. Throws Error with both
// files' names if it contains neither or both.
PromptTemplates load_templates(const std::filesystem::path& folder,
                               const WantedDatasets& wanted = {});

// Returns the files of templates in `folder`, official ones and the authors'.
std::vector<std::filesystem::path> template_files(const std::filesystem::path& folder);

// A prompt in parts that can be cached one by one. `before`, the documents and `behind` are the
// same for every question about these documents.
struct PromptParts {
  std::string before;
  std::vector<std::string> documents;
  std::string behind;
  std::string question;
  std::string cue;

  // Returns the user's turn: everything but the cue.
  [[nodiscard]] std::string text() const;
};

PromptParts fill(const PromptTemplate& prompt, const Sample& sample);

}  // namespace reprise::workloads::longbench
