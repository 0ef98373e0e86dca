#include "workloads/serving/text_entries.h"

#include <algorithm>

namespace reprise::workloads::serving {

void TextEntries::add_made_up_prefix(std::string name, int64_t tokens) {
  prefixes_.push_back({.name = std::move(name), .text = {}, .tokens = tokens});
}

void TextEntries::add_prefix(std::string name, std::vector<int32_t> tokens) {
  const int64_t count = std::ssize(tokens);
  prefixes_.push_back({.name = std::move(name), .text = std::move(tokens), .tokens = count});
}

void TextEntries::add(const Entry& entry, const std::vector<int32_t>& own_tokens) {
  entries_.push_back(
      {.entry = entry, .first_token = tokens_.size(), .own_tokens = std::ssize(own_tokens)});
  tokens_.insert(tokens_.end(), own_tokens.begin(), own_tokens.end());
}

void TextEntries::finish() {
  std::sort(entries_.begin(), entries_.end(),
            [](const Kept& a, const Kept& b) { return a.entry.place < b.entry.place; });
}

RequestSource::Lengths TextEntries::lengths(int64_t entry) const {
  const Kept& found = kept(entry);
  const int32_t prefix = found.entry.prefix;
  const int64_t before = prefix < 0 ? 0 : prefixes_[static_cast<size_t>(prefix)].tokens;
  return {.prompt = before + found.own_tokens, .output = found.entry.output_tokens};
}

void TextEntries::add_parts(int64_t entry, std::vector<PromptPart>& out) const {
  const Kept& found = kept(entry);
  if (found.entry.prefix >= 0)
    out.push_back(prefixes_[static_cast<size_t>(found.entry.prefix)].part());
  out.push_back({.tokens = found.own_tokens, .text = tokens_.data() + found.first_token});
}

std::vector<Entries::Prefix> TextEntries::prefixes() const {
  std::vector<Prefix> prefixes;
  for (const KeptPrefix& prefix : prefixes_)
    prefixes.push_back({.name = prefix.name, .parts = {prefix.part()}});
  return prefixes;
}

}  // namespace reprise::workloads::serving
