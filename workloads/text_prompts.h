// Prompts of real text from a file: a line, or a paragraph between blank lines, each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace reprise::workloads {

// Non-empty prompts of a UTF-8 text file, in order: paragraphs where the file has blank lines
// between them, else lines. Throws Error for a file that cannot be read or holds none.
std::vector<std::string> read_prompts(const std::filesystem::path& path);

// Texts turned into tokens once, then cut to any length.
class TextPrompts {
 public:
  using Encode = std::function<std::vector<int32_t>(const std::string&)>;

  TextPrompts(const std::vector<std::string>& texts, const Encode& encode);

  // Request r starts at a text drawn by (seed, r) and goes on through the following ones (after the
  // last comes the first) until it has exactly `tokens` tokens.
  [[nodiscard]] std::vector<int32_t> prompt(uint64_t seed, int64_t request, int64_t tokens) const;
  [[nodiscard]] size_t size() const { return prompts_.size(); }

 private:
  std::vector<std::vector<int32_t>> prompts_;  // none empty
};

}  // namespace reprise::workloads
