#include "workloads/longbench/truncation.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::workloads::longbench {
namespace {

// The first `head` ids and the last `tail` ones, or as many as there are of each.
std::vector<int32_t> ends_of(std::span<const int32_t> ids, size_t head, size_t tail) {
  const std::span<const int32_t> first = ids.first(std::min(head, ids.size()));
  const std::span<const int32_t> last = ids.last(std::min(tail, ids.size()));
  std::vector<int32_t> kept(first.begin(), first.end());
  kept.insert(kept.end(), last.begin(), last.end());
  return kept;
}

size_t checked(int64_t most_tokens) {
  REPRISE_CHECK(most_tokens >= 2, "most_tokens {}", most_tokens);
  return static_cast<size_t>(most_tokens);
}

}  // namespace

std::vector<int32_t> middle_cut(std::span<const int32_t> ids, int64_t most_tokens) {
  const size_t most = checked(most_tokens);
  if (ids.size() <= most) return {ids.begin(), ids.end()};
  return ends_of(ids, most / 2, most / 2);
}

std::vector<int32_t> middle_cut_as_coded(std::span<const int32_t> ids, int64_t most_tokens) {
  const size_t most = checked(most_tokens);
  return ends_of(ids, most / 2, most - most / 2);
}

std::vector<std::vector<int32_t>> middle_cut_documents(
    std::span<const std::vector<int32_t>> documents, int64_t most_tokens) {
  const size_t most = checked(most_tokens);
  size_t total = 0;
  for (const std::vector<int32_t>& ids : documents) total += ids.size();
  // Tokens [first_lost, end_lost) of the concatenation are taken out.
  const size_t first_lost = total <= most ? total : most / 2;
  const size_t end_lost = total <= most ? total : total - most / 2;
  std::vector<std::vector<int32_t>> kept;
  size_t begin = 0;  // of the document in the concatenation
  for (const std::vector<int32_t>& ids : documents) {
    const size_t end = begin + ids.size();
    const size_t head = std::min(end, std::max(begin, first_lost)) - begin;
    const size_t tail = end - std::max(begin, std::min(end, end_lost));
    if (head + tail > 0) kept.push_back(ends_of(ids, head, tail));
    begin = end;
  }
  return kept;
}

std::string middle_cut_text(const Tokenizer& tokenizer, std::string_view text,
                            int64_t most_tokens) {
  const size_t most = checked(most_tokens);
  const std::vector<int32_t> ids = tokenizer.encode(text, {.add_special = true});
  if (ids.size() <= most) return std::string(text);
  const std::span<const int32_t> all(ids);
  return tokenizer.decode(all.first(most / 2)) + tokenizer.decode(all.last(most / 2));
}

}  // namespace reprise::workloads::longbench
