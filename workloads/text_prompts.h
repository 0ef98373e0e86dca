// Prompts of real text from a file. Each line is a prompt or, if the file has blank lines, each
// paragraph.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "workloads/workload.h"

namespace reprise::workloads {

// Returns the non-empty prompts of a UTF-8 text file in order: its paragraphs if it has blank
// lines, else its lines. Throws Error for a file that cannot be read or has no prompt.
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

  // Returns the first `tokens` tokens of consecutive texts. The first text is drawn by (seed,
  // item), and after the file's last text comes its first.
  [[nodiscard]] std::vector<int32_t> prompt(int64_t item, int64_t tokens) const override;
  [[nodiscard]] size_t size() const { return prompts_.size(); }

 private:
  std::vector<std::vector<int32_t>> prompts_;  // none empty
  uint64_t seed_;
};

}  // namespace reprise::workloads
