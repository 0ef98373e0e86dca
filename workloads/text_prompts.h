// Prompts of real text from a file: a line, or a paragraph between blank lines, each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "workloads/workload.h"

namespace reprise::workloads {

// Non-empty prompts of a UTF-8 text file, in order: paragraphs where the file has blank lines
// between them, else lines. Throws Error for a file that cannot be read or holds none.
std::vector<std::string> read_prompts(const std::filesystem::path& path);

// Texts turned into tokens once, then cut to any length.
class TextPrompts final : public Workload {
 public:
  using Encode = std::function<std::vector<int32_t>(const std::string&)>;

  // Takes `file`, `tokenizer` and `seed`. Throws Error as read_prompts(), for a model without a
  // tokenizer, and where no text has a token.
  explicit TextPrompts(const WorkloadSource& source);
  TextPrompts(const std::vector<std::string>& texts, const Encode& encode, uint64_t seed);
  static WorkloadInfo info();

  // An item starts at a text drawn by element (item, 0) of the stream `seed` and goes on through
  // the following ones (after the last comes the first) until it has exactly `tokens` tokens.
  [[nodiscard]] std::vector<int32_t> prompt(int64_t item, int64_t tokens) const override;
  [[nodiscard]] size_t size() const { return prompts_.size(); }

 private:
  std::vector<std::vector<int32_t>> prompts_;  // none empty
  uint64_t seed_;
};

}  // namespace reprise::workloads
