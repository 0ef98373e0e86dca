#include "core/sentence/text_form.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/utf8_byte.h"
#include "core/tokenizer/python_text.h"
#include "core/tokenizer/utf8.h"

namespace reprise::sentence {
namespace {

constexpr std::string_view kPlace = "{text}";

// A text that may be cut is read up to kBytesPerToken bytes for each token that fits, plus
// kMoreBytes. Tokens of natural languages have 3 to 6 bytes on average. The last tokens before a
// cut may differ from those of the whole text, so the kept tokens end at least kTokensBeforeCut
// tokens before the cut.
constexpr int64_t kBytesPerToken = 16, kMoreBytes = int64_t{64} << 10, kTokensBeforeCut = 64;
// Upper bound on the bytes of a text that must not lose its end and is therefore read whole.
constexpr int64_t kMostWholeBytes = int64_t{16} << 20;

size_t bytes_read(const TextForm& form, bool keeps_end) {
  const bool may_be_cut =
      form.most_tokens > 0 && form.may_cut && form.prompt.after.empty() && !keeps_end;
  const bool is_short = form.most_tokens < kMostWholeBytes / kBytesPerToken;
  return static_cast<size_t>(may_be_cut && is_short ? form.most_tokens * kBytesPerToken + kMoreBytes
                                                    : kMostWholeBytes);
}

// Python's str.strip().
std::string_view stripped(std::string_view text) {
  while (!text.empty()) {
    const tokenizer::Utf8Char first = tokenizer::utf8_at(text, 0);
    if (!python::is_space(first.code)) break;
    text.remove_prefix(first.bytes);
  }
  while (!text.empty()) {
    const tokenizer::Utf8Char last = tokenizer::utf8_before(text, text.size());
    if (!python::is_space(last.code)) break;
    text.remove_suffix(last.bytes);
  }
  return text;
}

// Python's str.lower().
std::string lowered(std::string_view text) {
  return python::utf8(python::lower(python::code_points(text)));
}

}  // namespace

Prompt Prompt::parse(std::string_view given, const std::string& where) {
  const size_t at = given.find(kPlace);
  if (at == std::string_view::npos || given.find(kPlace, at + 1) != std::string_view::npos)
    raise("{} must hold {} exactly once, where the text goes: such as 'query: {}'", where, kPlace,
          kPlace);
  return {.before = std::string(given.substr(0, at)),
          .after = std::string(given.substr(at + kPlace.size()))};
}

TextTokenizer::TextTokenizer(const Tokenizer& tokenizer, TextForm form)
    : tokenizer_(tokenizer),
      form_(std::move(form)),
      most_bytes_(bytes_read(form_, tokenizer.truncates_left())) {
  // The special tokens around this text are the same as those around every text.
  const std::vector<int32_t> bare = tokenizer.encode("a", {.add_special = false});
  const std::vector<int32_t> whole = tokenizer.encode("a", {.add_special = true});
  const auto at = std::search(whole.begin(), whole.end(), bare.begin(), bare.end());
  if (bare.empty() || at == whole.end())
    raise(
        "the tokenizer makes {} tokens of \"a\", and {} with special tokens, among which those are "
        "not: it is no tokenizer of sentences",
        bare.size(), whole.size());
  first_.assign(whole.begin(), at);
  last_.assign(at + std::ssize(bare), whole.end());
  const std::vector<int32_t> prompted = tokenizer.encode(formed("a"), {.add_special = false});
  prompt_tokens_ = std::max<int64_t>(0, std::ssize(prompted) - std::ssize(bare));
  if (form_.most_tokens > 0 && form_.most_tokens <= around() + prompt_tokens_)
    raise("texts may have {} tokens, and the tokenizer puts {} around each{}: allow more",
          form_.most_tokens, around(),
          prompt_tokens_ == 0 ? "" : fmt::format(", and the prompt {} more", prompt_tokens_));
}

std::string_view TextTokenizer::beginning_of(std::string_view text) const {
  if (text.size() <= most_bytes_) return text;
  size_t end = most_bytes_;
  while (end > most_bytes_ - 3 && continues_character(text[end])) --end;
  return text.substr(0, end);
}

std::string TextTokenizer::formed(std::string_view text) const {
  const std::string whole = form_.prompt.before + std::string(text) + form_.prompt.after;
  const std::string_view kept = form_.strips_space ? stripped(whole) : std::string_view(whole);
  return form_.lowers_case ? lowered(kept) : std::string(kept);
}

TextTokens TextTokenizer::tokens_of(std::string_view text) const {
  const std::string_view read = beginning_of(text);
  const bool is_whole = read.size() == text.size();
  tokenizer::require_utf8(read, "the text");
  if (stripped(read).empty())
    raise("the text is empty{}: give at least one word",
          is_whole ? "" : fmt::format(" in its first {} bytes", read.size()));
  const std::vector<int32_t> own = tokenizer_.encode(formed(read), {.add_special = false});
  if (own.empty()) raise("the text has no token: the tokenizer drops all of its characters");
  TextTokens tokens{.given = std::ssize(own) + around()};
  const bool fits = form_.most_tokens <= 0 || tokens.given <= form_.most_tokens;
  const bool keeps_end = tokenizer_.truncates_left();
  const bool may_lose_end =
      !fits && form_.may_cut && !keeps_end && tokens.given >= form_.most_tokens + kTokensBeforeCut;
  if (!is_whole && !may_lose_end)
    raise("the text has more than {} bytes, the most that are read of a text here: shorten it",
          read.size());
  if (!fits && !form_.may_cut)
    raise("the text has {} tokens and the model takes {}: shorten the text", tokens.given,
          form_.most_tokens);
  if (!fits && !(keeps_end ? form_.prompt.before : form_.prompt.after).empty())
    raise(
        "the text has {} tokens with its prompt, the model takes {}, and cutting would lose the "
        "prompt's {}: shorten the text",
        tokens.given, form_.most_tokens, keeps_end ? "beginning" : "end");
  const int64_t kept = fits ? std::ssize(own) : form_.most_tokens - around();
  const auto begin = keeps_end ? own.end() - kept : own.begin();
  tokens.ids = first_;
  tokens.ids.insert(tokens.ids.end(), begin, begin + kept);
  tokens.ids.insert(tokens.ids.end(), last_.begin(), last_.end());
  return tokens;
}

}  // namespace reprise::sentence
