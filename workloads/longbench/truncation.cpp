#include "workloads/longbench/truncation.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/utf8_byte.h"
#include "core/tokenizer/utf8.h"

namespace reprise::workloads::longbench {
namespace {

size_t checked(int64_t most_tokens) {
  REPRISE_CHECK(most_tokens >= 2, "most_tokens {}", most_tokens);
  return static_cast<size_t>(most_tokens);
}

// The two ends that remain of a text that is too long.
struct Halves {
  std::string head, tail;
};

bool is_inside_character(std::string_view text, size_t at) {
  return at < text.size() && continues_character(text[at]);
}

bool is_all_replacement(std::string_view text) {
  constexpr std::string_view kOne = tokenizer::kReplacement;
  while (text.starts_with(kOne)) text.remove_prefix(kOne.size());
  return text.empty();
}

// The bytes of a text that its halves have unchanged. If the cut divides a character, the half has
// U+FFFDs in its place: one for each byte token of the character, and of neighbouring characters
// that consist of byte tokens.
struct Kept {
  size_t head_end = 0;    // the head equals bytes [0, head_end) of the text
  size_t tail_begin = 0;  // the tail equals bytes [tail_begin, size)
  size_t extra = 0;       // bytes of the tail before those that equal the text's end
};

Kept kept_of(const Halves& halves, std::string_view text) {
  const std::string& head = halves.head;
  const std::string& tail = halves.tail;
  const auto head_end = std::mismatch(head.begin(), head.end(), text.begin(), text.end()).first;
  const auto tail_end = std::mismatch(tail.rbegin(), tail.rend(), text.rbegin(), text.rend()).first;
  Kept kept{.head_end = static_cast<size_t>(head_end - head.begin()),
            .tail_begin = text.size() - static_cast<size_t>(tail_end - tail.rbegin()),
            .extra = static_cast<size_t>(tail.rend() - tail_end)};
  // U+FFFD may share its first or last bytes with the text's character.
  while (is_inside_character(head, kept.head_end)) --kept.head_end;
  for (; is_inside_character(tail, kept.extra); ++kept.extra) ++kept.tail_begin;
  const bool is_head = is_all_replacement(std::string_view(head).substr(kept.head_end));
  const bool is_tail = is_all_replacement(std::string_view(tail).substr(0, kept.extra));
  if (is_head && is_tail && kept.head_end <= kept.tail_begin) return kept;
  raise(
      "the tokenizer does not give back the text of {} bytes that it is given ({}), so that its "
      "parts cannot be told apart once its middle is out. It changes texts, or the text has a "
      "special token in it, such as </s>. Ask without cutting, or with the documents as one "
      "(truncation as_coded)",
      text.size(),
      !is_head   ? fmt::format("its beginning differs from byte {} on", kept.head_end)
      : !is_tail ? fmt::format("its end differs before byte {}", kept.tail_begin)
                 : fmt::format("bytes {} to {} come twice", kept.tail_begin, kept.head_end));
}

}  // namespace

std::vector<int32_t> middle_cut_as_coded(std::span<const int32_t> ids, int64_t most_tokens) {
  const size_t most = checked(most_tokens);
  const std::span<const int32_t> head = ids.first(std::min(most / 2, ids.size()));
  const std::span<const int32_t> tail = ids.last(std::min(most - most / 2, ids.size()));
  std::vector<int32_t> kept(head.begin(), head.end());
  kept.insert(kept.end(), tail.begin(), tail.end());
  return kept;
}

std::vector<std::string> middle_cut_parts(const Tokenizer& tokenizer,
                                          std::span<const std::string> parts, int64_t most_tokens) {
  REPRISE_CHECK(parts.size() >= 2, "{} parts", parts.size());
  const size_t most = checked(most_tokens);
  std::string text;
  std::vector<size_t> begins, ends;  // each part's bytes in the text
  for (const std::string& part : parts) {
    begins.push_back(text.size());
    text += part;
    ends.push_back(text.size());
  }
  const std::vector<int32_t> ids = tokenizer.encode(text, {.add_special = true});
  if (ids.size() <= most) return {parts.begin(), parts.end()};
  const std::span<const int32_t> all(ids);
  const Halves halves{.head = tokenizer.decode(all.first(most / 2)),
                      .tail = tokenizer.decode(all.last(most / 2))};
  const Kept kept = kept_of(halves, text);
  // Finds the part in which the head ends and the part in which the tail begins. Parts between
  // these two are lost. U+FFFDs belong to the part of the character that was cut.
  const size_t is_head_cut = halves.head.size() > kept.head_end ? 1 : 0;
  const size_t is_tail_cut = kept.extra > 0 ? 1 : 0;
  const auto last_head = static_cast<size_t>(
      std::lower_bound(ends.begin(), ends.end(), kept.head_end + is_head_cut) - ends.begin());
  const auto first_tail = static_cast<size_t>(
      std::upper_bound(begins.begin(), begins.end(), kept.tail_begin - is_tail_cut) -
      begins.begin() - 1);
  std::vector<std::string> cut;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string part = i < last_head || i > first_tail ? parts[i] : "";
    if (i == last_head) part += halves.head.substr(begins[i]);
    if (i == first_tail) part += halves.tail.substr(0, kept.extra + ends[i] - kept.tail_begin);
    if (!part.empty() || i == 0 || i + 1 == parts.size()) cut.push_back(std::move(part));
  }
  return cut;
}

}  // namespace reprise::workloads::longbench
