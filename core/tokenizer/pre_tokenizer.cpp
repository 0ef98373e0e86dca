// The pre-tokenizers and the function that makes them. Most of them are a single function of the
// pieces.
#include "core/tokenizer/pre_tokenizer.h"

#include <functional>

#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/unicode.h"

namespace reprise::tokenizer {
namespace {

// GPT-2's pattern for English contractions, words, numbers, symbols and white space.
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class FunctionPreTokenizer final : public PreTokenizer {
 public:
  explicit FunctionPreTokenizer(std::function<void(Pieces&)> function)
      : function_(std::move(function)) {}
  void apply(Pieces& pieces) const override { function_(pieces); }

 private:
  std::function<void(Pieces&)> function_;
};

std::unique_ptr<PreTokenizer> from(std::function<void(Pieces&)> function) {
  return std::make_unique<FunctionPreTokenizer>(std::move(function));
}

template <typename Predicate>
std::unique_ptr<PreTokenizer> split_at(SplitBehavior behavior, Predicate is_delimiter) {
  return from([=](Pieces& pieces) {
    split_pieces(pieces, behavior, [&](std::string_view text, std::vector<Span>& spans) {
      find_characters(text, spans, is_delimiter);
    });
  });
}

SplitBehavior read_behavior(const JsonPlace& place) {
  const std::string name = place.string();
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  place.fail("must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

void split_by(const Regex& regex, SplitBehavior behavior, bool invert, Pieces& pieces) {
  split_pieces(pieces, behavior, [&](std::string_view text, std::vector<Span>& spans) {
    regex.find_all(text, spans);
    if (invert)
      for (Span& span : spans) span.is_match = !span.is_match;
  });
}

std::unique_ptr<PreTokenizer> make_split(const JsonPlace& place, JsonObject& object) {
  object.allow({"pattern", "behavior"});
  auto regex = std::make_shared<const Regex>(read_pattern(place.child("pattern")));
  const SplitBehavior behavior = read_behavior(place.child("behavior"));
  const bool invert = object.boolean("invert", false);
  return from([=](Pieces& pieces) { split_by(*regex, behavior, invert, pieces); });
}

std::unique_ptr<PreTokenizer> make_byte_level(const JsonPlace& place, JsonObject& object) {
  object.allow({"trim_offsets"});  // offsets are not kept
  const bool add_prefix_space = object.boolean("add_prefix_space", true);
  const bool use_regex = object.boolean("use_regex", true);
  auto regex = std::make_shared<const Regex>(kGpt2Pattern, place.where());
  return from([=](Pieces& pieces) {
    if (add_prefix_space)
      rewrite_pieces(pieces, [](const Piece&, std::string_view text, std::string& out) {
        if (!text.starts_with(' ')) out += ' ';
        out += text;
      });
    if (use_regex) split_by(*regex, SplitBehavior::kIsolated, false, pieces);
    rewrite_pieces(pieces, [](const Piece&, std::string_view text, std::string& out) {
      for (const char c : text) append_byte_level(out, static_cast<unsigned char>(c));
    });
  });
}

std::unique_ptr<PreTokenizer> make_metaspace(const JsonPlace& place, JsonObject& object) {
  const MetaspaceOptions options = read_metaspace(place, object);
  const char32_t mark = utf8_at(options.replacement, 0).code;
  return from([=](Pieces& pieces) {
    rewrite_pieces(pieces, [&](const Piece& piece, std::string_view text, std::string& out) {
      const bool has_mark = text.starts_with(' ') || text.starts_with(options.replacement);
      const bool wants_mark =
          options.prepend == MetaspaceOptions::Prepend::kAlways ||
          (options.prepend == MetaspaceOptions::Prepend::kFirst && piece.is_start);
      if (wants_mark && !has_mark) out += options.replacement;
      for (const char c : text) {
        if (c == ' ') {
          out += options.replacement;
        } else {
          out += c;
        }
      }
    });
    if (options.split)
      split_pieces(pieces, SplitBehavior::kMergedWithNext,
                   [&](std::string_view text, std::vector<Span>& spans) {
                     find_characters(text, spans, [&](char32_t c) { return c == mark; });
                   });
  });
}

// Makes a piece of each match of \w+ and [^\w\s]+, and drops white space. Here \w includes the
// zero-width joiners.
std::unique_ptr<PreTokenizer> make_whitespace() {
  const auto kind = [](char32_t c) {
    return is_word(c) || c == 0x200c || c == 0x200d ? 0 : is_whitespace(c) ? 1 : 2;
  };
  return from([kind](Pieces& pieces) {
    split_pieces(pieces, SplitBehavior::kRemoved,
                 [&](std::string_view text, std::vector<Span>& spans) {
                   int previous = -1;
                   for (size_t at = 0; at < text.size();) {
                     const Utf8Char c = utf8_at(text, at);
                     const int now = kind(c.code);
                     if (now == previous) {
                       spans.back().end += c.bytes;
                     } else {
                       spans.push_back({at, at + c.bytes, now == 1});
                     }
                     previous = now;
                     at += c.bytes;
                   }
                 });
  });
}

std::unique_ptr<PreTokenizer> make_bert() {
  return from([](Pieces& pieces) {
    split_pieces(pieces, SplitBehavior::kRemoved,
                 [](std::string_view text, std::vector<Span>& out) {
                   find_characters(text, out, is_whitespace);
                 });
    split_pieces(pieces, SplitBehavior::kIsolated,
                 [](std::string_view text, std::vector<Span>& out) {
                   find_characters(text, out, is_punctuation);
                 });
  });
}

std::unique_ptr<PreTokenizer> make_sequence(const JsonPlace& place) {
  auto steps = std::make_shared<std::vector<std::unique_ptr<PreTokenizer>>>();
  const JsonPlace list = place.child("pretokenizers");
  for (size_t i = 0; i < list.list_size(); ++i) steps->push_back(make_pre_tokenizer(list.item(i)));
  return from([steps](Pieces& pieces) {
    for (const auto& step : *steps) step->apply(pieces);
  });
}

std::unique_ptr<PreTokenizer> make_known(const std::string& type, const JsonPlace& place,
                                         JsonObject& object) {
  if (type == "Split") return make_split(place, object);
  if (type == "ByteLevel") return make_byte_level(place, object);
  if (type == "Metaspace") return make_metaspace(place, object);
  if (type == "Whitespace") return make_whitespace();
  if (type == "WhitespaceSplit") return split_at(SplitBehavior::kRemoved, is_whitespace);
  if (type == "BertPreTokenizer") return make_bert();
  if (type == "Digits")
    return split_at(object.boolean("individual_digits", false) ? SplitBehavior::kIsolated
                                                               : SplitBehavior::kContiguous,
                    is_number);
  if (type == "Punctuation")
    return split_at(
        object.has("behavior") ? read_behavior(place.child("behavior")) : SplitBehavior::kIsolated,
        is_punctuation);
  if (type == "CharDelimiterSplit") {
    const std::string text = object.string("delimiter");
    if (utf8_length(text) != 1) place.child("delimiter").fail("must be one character");
    return split_at(SplitBehavior::kRemoved,
                    [code = utf8_at(text, 0).code](char32_t c) { return c == code; });
  }
  object.allow({"pretokenizers"});
  return make_sequence(place);
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonPlace& place) {
  const std::string type =
      place.type({"Split", "Digits", "Punctuation", "ByteLevel", "Metaspace", "Sequence",
                  "BertPreTokenizer", "Whitespace", "WhitespaceSplit", "CharDelimiterSplit"});
  JsonObject object = place.object();
  object.allow({"type"});
  auto pre_tokenizer = make_known(type, place, object);
  object.reject_unknown();
  return pre_tokenizer;
}

MetaspaceOptions read_metaspace(const JsonPlace& place, JsonObject& object) {
  MetaspaceOptions options;
  options.replacement = object.string("replacement");
  if (utf8_length(options.replacement) != 1)
    place.child("replacement").fail("must be one character");
  if (object.string("str_rep", options.replacement) != options.replacement)
    place.child("str_rep").fail("must equal \"replacement\"");
  const std::string scheme = object.string("prepend_scheme", "always");
  if (scheme == "first") {
    options.prepend = MetaspaceOptions::Prepend::kFirst;
  } else if (scheme == "never") {
    options.prepend = MetaspaceOptions::Prepend::kNever;
  } else if (scheme != "always") {
    place.child("prepend_scheme").fail("must be always, first or never");
  }
  // Files from before prepend_scheme existed use this flag instead.
  if (!object.boolean("add_prefix_space", true))
    options.prepend = MetaspaceOptions::Prepend::kNever;
  options.split = object.boolean("split", true);
  return options;
}

}  // namespace reprise::tokenizer
