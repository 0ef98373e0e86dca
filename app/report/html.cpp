#include "app/report/html.h"

#include <cstdint>

#include "core/base/error.h"
#include "core/base/visible.h"

namespace reprise::app {
namespace {

// The code of a three-byte UTF-8 character at the beginning of `text`, else 0.
uint32_t three_byte_code(std::string_view text) {
  if (text.size() < 3 || (static_cast<unsigned char>(text[0]) & 0xF0) != 0xE0) return 0;
  const auto bits = [&](size_t i) { return static_cast<unsigned char>(text[i]) & 0x3FU; };
  return (static_cast<unsigned char>(text[0]) & 0x0FU) << 12 | bits(1) << 6 | bits(2);
}

// Marks and overrides of direction, separators of lines, and what XML does not allow.
bool is_misleading(uint32_t code) {
  return code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFFFE || code == 0xFFFF;
}

constexpr std::string_view kArabicLetterMark = "\xd8\x9c";

void append_escaped(char c, std::string& out) {
  switch (c) {
    case '&':
      out += "&amp;";
      return;
    case '<':
      out += "&lt;";
      return;
    case '>':
      out += "&gt;";
      return;
    case '"':
      out += "&quot;";
      return;
    case '\'':
      out += "&#39;";
      return;
    default:
      out += c;
  }
}

}  // namespace

std::string html_text(std::string_view text) {
  const std::string shown = visible(text, /*kept=*/"");
  std::string out;
  for (std::string_view rest = shown; !rest.empty();) {
    if (const uint32_t code = three_byte_code(rest); is_misleading(code)) {
      out += fmt::format("\\u{:04x}", code);
      rest.remove_prefix(3);
    } else if (rest.starts_with(kArabicLetterMark)) {
      out += "\\u061c";
      rest.remove_prefix(kArabicLetterMark.size());
    } else {
      append_escaped(rest[0], out);
      rest.remove_prefix(1);
    }
  }
  return out;
}

void Html::begin(std::string_view tag, std::span<const Attribute> attributes) {
  markup_ += '<';
  markup_ += tag;
  for (const auto& [name, value] : attributes)
    markup_ += fmt::format(" {}=\"{}\"", name, html_text(value));
}

Html& Html::open(std::string_view tag, std::span<const Attribute> attributes) {
  begin(tag, attributes);
  markup_ += '>';
  open_.emplace_back(tag);
  return *this;
}

Html& Html::open(std::string_view tag, std::initializer_list<Attribute> attributes) {
  return open(tag, std::span(attributes.begin(), attributes.size()));
}

Html& Html::close() {
  REPRISE_CHECK(!open_.empty());
  markup_ += fmt::format("</{}>", open_.back());
  // Lines where they change nothing that is seen, for whoever reads the source.
  for (const std::string_view tag :
       {"tr", "p", "section", "figure", "table", "dd", "li", "h2", "h3"})
    if (open_.back() == tag) markup_ += '\n';
  open_.pop_back();
  return *this;
}

Html& Html::text(std::string_view text) {
  markup_ += html_text(text);
  return *this;
}

Html& Html::element(std::string_view tag, std::string_view content,
                    std::initializer_list<Attribute> attributes) {
  return open(tag, attributes).text(content).close();
}

Html& Html::empty(std::string_view tag, std::initializer_list<Attribute> attributes) {
  begin(tag, std::span(attributes.begin(), attributes.size()));
  markup_ += "/>";
  return *this;
}

Html& Html::trusted(std::string_view markup) {
  markup_ += markup;
  return *this;
}

const std::string& Html::finished() const {
  REPRISE_CHECK(open_.empty(), "{} is open", open_.back());
  return markup_;
}

}  // namespace reprise::app
