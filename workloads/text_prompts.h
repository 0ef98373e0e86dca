// Prompts of real text from a file: one line each, or one paragraph each if blank lines separate
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "workloads/workload.h"

namespace reprise::workloads {

// Returns the non-empty prompts of a UTF-8 text file in order: paragraphs if blank lines separate
// them, else lines. Throws Error for a file that cannot be read or has no prompt.
std::vector<std::string> read_prompts(const std::filesystem::path& path);

// Turns texts into tokens once and cuts prompts of any length from them.
class TextPrompts final : public Workload {
 public:
  using Encode = std::function<std::vector<int32_t>(const std::string&)>;

  // Needs `file`, `tokenizer` and `seed` of the source. Throws Error as read_prompts() does, for a
  // model without a tokenizer, and if no text has a token.
  explicit TextPrompts(const WorkloadSource& source);
  TextPrompts(const std::vector<std::string>& texts, const Encode& encode, uint64_t seed);
  static WorkloadInfo info();

  // Returns `tokens` tokens of consecutive texts. The first of them is drawn by (seed, item); the
  // file's first text follows its last. The last text taken is cut so that `tokens` tokens result.
  [[nodiscard]] std::vector<int32_t> prompt(int64_t item, int64_t tokens) const override;
  [[nodiscard]] size_t size() const { return prompts_.size(); }

 private:
  std::vector<std::vector<int32_t>> prompts_;  // none empty
  uint64_t seed_;
};

}  // namespace reprise::workloads
