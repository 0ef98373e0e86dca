#include "workloads/text_prompts.h"

#include <algorithm>

#include "core/base/byte_order_mark.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/random.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/utf8.h"

namespace reprise::workloads {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (std::string part = trimmed(text.substr(begin, end - begin)); !part.empty())
      parts.push_back(std::move(part));
    begin = end + separator.size();
  }
  return parts;
}

}  // namespace

std::vector<std::string> read_prompts(const std::filesystem::path& path) {
  std::string text = read_file(path, kMostBytes);
  tokenizer::require_utf8(text, path.string());
  std::erase(text, '\r');
  text = trimmed(std::string(without_byte_order_mark(text)));
  const bool has_paragraphs = text.find("\n\n") != std::string::npos;
  std::vector<std::string> prompts = split(text, has_paragraphs ? "\n\n" : "\n");
  if (prompts.empty())
    raise("{} holds no text; a prompt file has one prompt a line", path.string());
  return prompts;
}

TextPrompts::TextPrompts(const WorkloadSource& source)
    : TextPrompts(
          read_prompts(source.file),
          [tokenizer = source.tokenizer()](const std::string& text) {
            return tokenizer->encode(text);
          },
          source.seed) {}

TextPrompts::TextPrompts(const std::vector<std::string>& texts, const Encode& encode, uint64_t seed)
    : seed_(seed) {
  for (const std::string& text : texts)
    if (std::vector<int32_t> ids = encode(text); !ids.empty()) prompts_.push_back(std::move(ids));
  if (prompts_.empty()) raise("the prompts hold no token at all; check the prompt file");
}

WorkloadInfo TextPrompts::info() {
  return {.name = "text_prompts",
          .summary = "text of a file, tokenized and cut to the wanted length",
          .takes_file = true};
}

std::vector<int32_t> TextPrompts::prompt(int64_t item, int64_t tokens) const {
  REPRISE_CHECK(tokens >= 0, "tokens {}", tokens);
  const auto length = static_cast<size_t>(tokens);
  std::vector<int32_t> ids;
  size_t text = random_bits(seed_, static_cast<uint64_t>(item), 0) % prompts_.size();
  for (; ids.size() < length; text = (text + 1) % prompts_.size()) {
    const std::vector<int32_t>& next = prompts_[text];
    const size_t taken = std::min(next.size(), length - ids.size());
    ids.insert(ids.end(), next.begin(), next.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  return ids;
}

}  // namespace reprise::workloads
