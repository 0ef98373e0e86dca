#include "workloads/questions/cut_item.h"

#include "core/base/error.h"
#include "workloads/longbench/truncation.h"

namespace reprise::workloads::questions {
namespace {

bool cut_prompt(Item& item, const Tokenizer& tokenizer, int64_t most_tokens) {
  std::vector<std::string> parts = {item.preamble};
  parts.insert(parts.end(), item.documents.begin(), item.documents.end());
  parts.push_back(item.question);
  const std::vector<std::string> cut = longbench::middle_cut_parts(tokenizer, parts, most_tokens);
  if (cut == parts) return false;
  item.preamble = cut.front();
  item.documents.assign(cut.begin() + 1, cut.end() - 1);
  item.question = cut.back();
  return true;
}

bool cut_cached(Item& item, const Tokenizer& tokenizer, int64_t most_tokens) {
  std::string text = item.preamble;
  for (const std::string& document : item.documents) text += document;
  const std::vector<int32_t> ids = tokenizer.encode(text, {.add_special = false});
  item.documents = {tokenizer.decode(longbench::middle_cut_as_coded(ids, most_tokens))};
  item.preamble.clear();
  return item.documents.front() != text;
}

}  // namespace

bool cut_middle(Item& item, const Tokenizer& tokenizer, int64_t most_tokens,
                Truncation truncation) {
  const bool has_documents = !item.documents.empty(), has_question = !item.question.empty();
  try {
    const bool is_cut = truncation == Truncation::kOfficial
                            ? cut_prompt(item, tokenizer, most_tokens)
                            : cut_cached(item, tokenizer, most_tokens);
    if (has_documents && (item.documents.empty() || item.documents.front().empty()))
      raise("{} tokens leave nothing of its documents; allow more", most_tokens);
    if (has_question && item.question.empty())
      raise("{} tokens leave nothing of what is asked; allow more", most_tokens);
    return is_cut;
  } catch (const Error& error) {
    raise("question {}: {}", item.id, error.what());
  }
}

}  // namespace reprise::workloads::questions
