// The normalizers and the function that makes them. Most normalizers are a single function of the
// text.
#include "core/tokenizer/normalizer.h"

#include <functional>
#include <vector>

#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/regex.h"
#include "core/tokenizer/unicode.h"
#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {
namespace {

// Upper bound on the bytes of a text after a Replace. Without a bound, a sequence of several
// Replace and Prepend could multiply the text's length again and again.
constexpr size_t kMaxNormalizedBytes = size_t{1} << 31;

// Keeps the characters for which keep(code) is true.
template <typename Keep>
void filter(NormalizedText& text, Keep&& keep) {
  std::string out;
  out.reserve(text.text.size());
  for (size_t at = 0; at < text.text.size();) {
    const Utf8Char c = utf8_at(text.text, at);
    if (keep(c.code)) {
      out.append(text.text, at, c.bytes);
    } else if (out.empty()) {
      text.is_start = false;
    }
    at += c.bytes;
  }
  text.text = std::move(out);
}

// Replaces each character by the text that map(code, out) appends.
template <typename Map>
void map_characters(NormalizedText& text, Map&& map) {
  std::string out;
  out.reserve(text.text.size());
  for (size_t at = 0; at < text.text.size();) {
    const Utf8Char c = utf8_at(text.text, at);
    map(c.code, out);
    at += c.bytes;
  }
  text.text = std::move(out);
}

void lowercase(NormalizedText& text) {
  map_characters(text, [](char32_t code, std::string& out) { append_lower(out, code); });
}

// A normalizer that is a single function of the text.
class FunctionNormalizer final : public Normalizer {
 public:
  explicit FunctionNormalizer(std::function<void(NormalizedText&)> function)
      : function_(std::move(function)) {}
  void apply(NormalizedText& text) const override { function_(text); }

 private:
  std::function<void(NormalizedText&)> function_;
};

std::unique_ptr<Normalizer> from(std::function<void(NormalizedText&)> function) {
  return std::make_unique<FunctionNormalizer>(std::move(function));
}

std::unique_ptr<Normalizer> form(NormalForm normal_form) {
  return from(
      [normal_form](NormalizedText& text) { text.text = normalized(text.text, normal_form); });
}

// Returns whether, in Hugging Face's library, the text after a replaced span no longer counts as
// the start of the input. This is so if the span and everything before it were removed
// (`is_removed`), or if the span begins the text and has several characters.
bool moves_start(std::string_view text, const Span& span, bool is_removed) {
  if (span.begin == span.end) return false;
  return is_removed || (span.begin == 0 && span.end > utf8_at(text, 0).bytes);
}

std::unique_ptr<Normalizer> make_replace(const JsonPlace& place) {
  auto pattern = std::make_shared<const Regex>(read_pattern(place.child("pattern")));
  const std::string content = place.child("content").string();
  return from([pattern, content, where = place.where()](NormalizedText& text) {
    std::vector<Span> spans;
    pattern->find_all(text.text, spans);
    std::string out;
    for (const Span& span : spans) {
      if (span.is_match && moves_start(text.text, span, content.empty() && out.empty()))
        text.is_start = false;
      out += span.is_match ? content : text.text.substr(span.begin, span.end - span.begin);
      if (out.size() > kMaxNormalizedBytes) raise("{}: the text grows beyond 2 GiB", where);
    }
    text.text = std::move(out);
  });
}

std::unique_ptr<Normalizer> make_strip(bool left, bool right) {
  return from([left, right](NormalizedText& text) {
    size_t begin = 0;
    size_t end = text.text.size();
    while (left && begin < end) {
      const Utf8Char c = utf8_at(text.text, begin);
      if (!is_whitespace(c.code)) break;
      begin += c.bytes;
    }
    while (right && begin < end) {
      const Utf8Char c = utf8_before(text.text, end);
      if (!is_whitespace(c.code)) break;
      end -= c.bytes;
    }
    if (begin > 0) text.is_start = false;
    text.text = text.text.substr(begin, end - begin);
  });
}

struct BertOptions {
  bool clean_text = true, handle_chinese_chars = true, strip_accents = true, lowercase = true;
};

void bert_normalize(NormalizedText& text, const BertOptions& options) {
  if (options.clean_text) {
    filter(text, [](char32_t c) {
      if (c == '\t' || c == '\n' || c == '\r') return true;
      return c != 0 && c != 0xfffd && !is_control_or_other(c);
    });
    map_characters(
        text, [](char32_t c, std::string& out) { append_utf8(out, is_whitespace(c) ? U' ' : c); });
  }
  if (options.handle_chinese_chars)
    map_characters(text, [](char32_t c, std::string& out) {
      if (is_bert_cjk(c)) out += ' ';
      append_utf8(out, c);
      if (is_bert_cjk(c)) out += ' ';
    });
  if (options.strip_accents) {
    text.text = normalized(text.text, NormalForm::kNFD);
    filter(text, [](char32_t c) { return !is_nonspacing_mark(c); });
  }
  if (options.lowercase) lowercase(text);
}

std::unique_ptr<Normalizer> make_bert(JsonObject& object) {
  BertOptions options;
  options.clean_text = object.boolean("clean_text", true);
  options.handle_chinese_chars = object.boolean("handle_chinese_chars", true);
  options.lowercase = object.boolean("lowercase", true);
  options.strip_accents = object.boolean("strip_accents", options.lowercase);
  return from([options](NormalizedText& text) { bert_normalize(text, options); });
}

std::unique_ptr<Normalizer> make_sequence(const JsonPlace& place) {
  auto steps = std::make_shared<std::vector<std::unique_ptr<Normalizer>>>();
  const JsonPlace list = place.child("normalizers");
  for (size_t i = 0; i < list.list_size(); ++i) steps->push_back(make_normalizer(list.item(i)));
  return from([steps](NormalizedText& text) {
    for (const auto& step : *steps) step->apply(text);
  });
}

std::unique_ptr<Normalizer> make_prepend(const std::string& prefix) {
  return from([prefix](NormalizedText& text) {
    if (!text.text.empty()) text.text.insert(0, prefix);
  });
}

std::unique_ptr<Normalizer> make_known(const std::string& type, const JsonPlace& place,
                                       JsonObject& object) {
  if (type == "NFC") return form(NormalForm::kNFC);
  if (type == "NFD") return form(NormalForm::kNFD);
  if (type == "NFKC") return form(NormalForm::kNFKC);
  if (type == "NFKD") return form(NormalForm::kNFKD);
  if (type == "Lowercase") return from(lowercase);
  if (type == "StripAccents")
    return from([](NormalizedText& text) { filter(text, [](char32_t c) { return !is_mark(c); }); });
  if (type == "BertNormalizer") return make_bert(object);
  if (type == "Prepend") return make_prepend(object.string("prepend"));
  if (type == "Strip")
    return make_strip(object.boolean("strip_left", true), object.boolean("strip_right", true));
  if (type == "ByteLevel")
    return from([](NormalizedText& text) {
      std::string out;
      for (const char c : text.text) append_byte_level(out, static_cast<unsigned char>(c));
      text.text = std::move(out);
    });
  if (type == "Replace") {
    object.allow({"pattern", "content"});
    return make_replace(place);
  }
  object.allow({"normalizers"});
  return make_sequence(place);
}

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const JsonPlace& place) {
  const std::string type =
      place.type({"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Replace", "Prepend",
                  "Strip", "Sequence", "BertNormalizer", "ByteLevel"});
  JsonObject object = place.object();
  object.allow({"type"});
  auto normalizer = make_known(type, place, object);
  object.reject_unknown();
  return normalizer;
}

Regex read_pattern(const JsonPlace& place) {
  if (!place.value.is_fields() || place.value.size() != 1)
    place.fail("must be {\"String\": ...} or {\"Regex\": ...}");
  if (place.value.contains("String"))
    return Regex::literal(place.child("String").string(), place.where());
  if (place.value.contains("Regex")) return {place.child("Regex").string(), place.where()};
  place.fail("must be {\"String\": ...} or {\"Regex\": ...}");
}

}  // namespace reprise::tokenizer
