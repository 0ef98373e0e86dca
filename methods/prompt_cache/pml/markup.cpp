#include "methods/prompt_cache/pml/markup.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/base/byte_order_mark.h"

namespace reprise::pml {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// True for the characters that may begin a name in pugixml, so that this check and pugixml see the
// same tags.
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool continues_name(char c) {
  return begins_name(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

// True for the numbers that a character reference may have: the production Char of XML 1.0.
bool is_character(uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  return code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF) && code != 0xFFFE &&
         code != 0xFFFF;
}

std::optional<size_t> first_broken_byte(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t read =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + i),
                         static_cast<utf8proc_ssize_t>(text.size() - i), &code);
    if (read <= 0) return i;
    i += static_cast<size_t>(read);
  }
  return std::nullopt;
}

class Scan {
 public:
  // If `strays` is not null, it gets the offset of each "<" that begins no tag, and such a "<" is
  // not reported as a problem.
  Scan(const Source& source, const Limits& limits, Report& report,
       std::vector<size_t>* strays = nullptr)
      : source_(source), text_(source.text()), limits_(limits), report_(report), strays_(strays) {}

  void run() {
    if (const auto broken = first_broken_byte(text_)) {
      problem(*broken, fmt::format("byte \\x{:02x} is no UTF-8; save the file as UTF-8",
                                   static_cast<unsigned char>(text_[*broken])));
      return;
    }
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    begin_ = at_;
    while (!is_lost_ && at_ < text_.size()) step();
    if (!is_lost_) end();
  }

 private:
  struct Open {
    std::string_view name;
    size_t offset = 0;
  };

  void problem(size_t offset, std::string_view sentence) {
    report_.add(source_.place_of(offset), sentence);
  }
  // Reports a problem after which the rest of the text cannot be checked.
  void lost(size_t offset, std::string_view sentence) {
    problem(offset, sentence);
    is_lost_ = true;
  }

  void step() {
    const char c = text_[at_];
    if (c == '<') {
      markup();
      return;
    }
    if (open_.empty() && !is_space(c) && !has_outside_) {
      has_outside_ = true;
      problem(at_, "text outside of the root element; put it inside, or take it out");
    }
    if (c == '&')
      reference(text_.size());
    else
      character();
  }

  void character() {
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (c < 0x20 && !is_space(text_[at_]))
      problem(at_, fmt::format("control character \\x{:02x}; take it out", c));
    ++at_;
  }

  // Reads the reference that begins with the "&" at at_ and must end before `end`.
  void reference(size_t end) {
    constexpr size_t kLongest = 12;
    const size_t from = at_ + 1;
    const size_t semicolon = text_.substr(0, std::min(end, from + kLongest)).find(';', from);
    const std::string_view name =
        semicolon == std::string_view::npos ? "" : text_.substr(from, semicolon - from);
    constexpr std::array kNames = {"lt", "gt", "amp", "quot", "apos"};
    const bool is_known = std::find(kNames.begin(), kNames.end(), name) != kNames.end();
    if (name.starts_with('#') && !is_number(name))
      problem(at_, fmt::format("\"&{};\" is the number of no character that XML allows", name));
    else if (name.empty() || (!begins_name(name[0]) && name[0] != '#'))
      problem(at_, "\"&\" begins no reference; write &amp; for the character itself");
    else if (!is_known && name[0] != '#')
      problem(at_,
              fmt::format("unknown entity \"&{};\"; known are &lt; &gt; &amp; &quot; &apos; and "
                          "numbers such as &#8211;",
                          name));
    ++at_;
  }

  static bool is_number(std::string_view name) {
    if (name.size() < 2 || name[0] != '#') return false;
    const bool is_hex = name[1] == 'x';
    const std::string_view digits = name.substr(is_hex ? 2 : 1);
    uint32_t code = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, is_hex ? 16 : 10);
    return error == std::errc() && end == digits.data() + digits.size() && is_character(code);
  }

  void markup() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("<!--"))
      skip_to("-->", 4, "this comment is not closed; end it with -->");
    else if (rest.starts_with("<![CDATA["))
      cdata();
    else if (rest.starts_with("<!DOCTYPE") || rest.starts_with("<!doctype"))
      lost(at_, "DOCTYPE is refused: PML declares no entities; take the declaration out");
    else if (rest.starts_with("<?"))
      instruction();
    else if (rest.starts_with("</"))
      close_tag();
    else if (rest.size() > 1 && begins_name(rest[1]))
      open_tag();
    else
      stray();
  }

  void stray() {
    if (strays_ != nullptr)
      strays_->push_back(at_);
    else
      problem(at_,
              "\"<\" begins no tag; write &lt; for the character itself, or put the text into "
              "<![CDATA[ ... ]]>");
    ++at_;
  }

  void skip_to(std::string_view end, size_t opening, std::string_view missing) {
    const size_t found = text_.find(end, at_ + opening);
    if (found == std::string_view::npos)
      lost(at_, missing);
    else
      check_controls(found + end.size());
  }

  void check_controls(size_t end) {
    while (at_ < end) character();
  }

  void cdata() {
    if (open_.empty() && !has_outside_) {
      has_outside_ = true;
      problem(at_, "text outside of the root element; put it inside, or take it out");
    }
    skip_to("]]>", 9, "this CDATA section is not closed; end it with ]]>");
  }

  void instruction() {
    const size_t begin = at_;
    const std::string_view rest = text_.substr(at_);
    const bool is_declaration =
        begin == begin_ && rest.starts_with("<?xml") && rest.size() > 5 && is_space(rest[5]);
    skip_to("?>", 2, "this \"<?\" is not closed; end it with ?>");
    if (is_lost_) return;
    const std::string_view whole = text_.substr(begin, at_ - begin);
    if (!is_declaration)
      problem(begin, "processing instructions mean nothing in PML; take it out");
    else if (const size_t key = whole.find("encoding");
             key != std::string_view::npos && !names_utf8(whole.substr(key)))
      problem(begin + key, "PML is read as UTF-8; save the file as UTF-8 and say so here");
  }

  static bool names_utf8(std::string_view text) {
    std::string lower;
    for (const char c : text) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return lower.find("utf-8") != std::string::npos || lower.find("us-ascii") != std::string::npos;
  }

  std::string_view name() {
    const size_t begin = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  bool skip_space() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ > begin;
  }
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void open_tag() {
    const size_t begin = at_++;
    const std::string_view tag = name();
    if (++elements_ > limits_.elements)
      return lost(begin, fmt::format("more than {} elements; split the file", limits_.elements));
    if (open_.empty() && has_root_)
      problem(begin, fmt::format("a second root element <{}>; a file holds one", tag));
    has_root_ = true;
    while (true) {
      const bool has_space = skip_space();
      if (next() == '>') {
        ++at_;
        open_.push_back({tag, begin});
        if (static_cast<int32_t>(open_.size()) > limits_.depth)
          lost(begin, fmt::format("elements nest deeper than {}; flatten them", limits_.depth));
        return;
      }
      if (next() == '/' && text_.substr(at_).starts_with("/>")) {
        at_ += 2;
        return;
      }
      if (!has_space || !begins_name(next()) || !attribute(tag)) {
        if (!is_lost_)
          lost(at_, fmt::format("tag <{}> of line {} is broken here; expected name=\"value\", > or "
                                "/> (a \"<\" that is meant as text is written &lt;)",
                                tag, source_.place_of(begin).line));
        return;
      }
    }
  }

  // Reads an attribute and checks its value. Returns false if there is none.
  bool attribute(std::string_view tag) {
    name();
    skip_space();
    if (next() != '=') return false;
    ++at_;
    skip_space();
    const char quote = next();
    if (quote != '"' && quote != '\'') return false;
    const size_t begin = at_++;
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) {
      lost(begin, fmt::format("a value of tag <{}> is not closed; end it with {}", tag, quote));
      return false;
    }
    while (at_ < end) {
      if (text_[at_] == '<') problem(at_, "\"<\" inside a value; write &lt;");
      if (text_[at_] == '&')
        reference(end);
      else
        character();
    }
    ++at_;
    return true;
  }

  void close_tag() {
    const size_t begin = at_;
    at_ += 2;
    const std::string_view tag = name();
    skip_space();
    if (tag.empty() || next() != '>')
      return lost(begin, "this closing tag is broken; expected </name>");
    ++at_;
    if (open_.empty())
      return lost(begin, fmt::format("</{}> closes nothing: no element is open", tag));
    if (open_.back().name != tag)
      return lost(begin,
                  fmt::format("</{}> does not close <{}> of line {}; close that one first", tag,
                              open_.back().name, source_.place_of(open_.back().offset).line));
    open_.pop_back();
  }

  void end() {
    if (!open_.empty())
      problem(open_.back().offset,
              fmt::format("<{}> is not closed; write </{}>", open_.back().name, open_.back().name));
    else if (!has_root_)
      problem(text_.size(), "no element; a file holds a <schema> or a <prompt>");
  }

  const Source& source_;
  const std::string_view text_;
  const Limits& limits_;
  Report& report_;
  std::vector<size_t>* strays_;
  size_t at_ = 0, begin_ = 0;
  std::vector<Open> open_;
  int64_t elements_ = 0;
  bool has_root_ = false, has_outside_ = false, is_lost_ = false;
};

}  // namespace

void check_markup(const Source& source, const Limits& limits, Report& report) {
  Scan(source, limits, report).run();
}

Source with_strays_as_text(const Source& source, std::vector<std::string>& notes,
                           const Limits& limits) {
  Report report(source.name());
  std::vector<size_t> strays;
  try {
    Scan(source, limits, report, &strays).run();
  } catch (const ProblemsError&) {  // the parser will report these problems
  }
  std::string text;
  size_t from = 0;
  for (const size_t stray : strays) {
    notes.push_back(fmt::format("{}: \"<\" begins no tag; it is read as the character",
                                at(source.name(), source.place_of(stray))));
    text += source.text().substr(from, stray - from) + "&lt;";
    from = stray + 1;
  }
  text += source.text().substr(from);
  return {source.name(), std::move(text), source.folder()};
}

Source read_leniently(const std::filesystem::path& path, std::vector<std::string>& notes,
                      const Limits& limits) {
  return with_strays_as_text(Source::read(path, limits), notes, limits);
}

Source read_source(const std::filesystem::path& path, bool is_lenient,
                   std::vector<std::string>& notes) {
  return is_lenient ? read_leniently(path, notes) : Source::read(path);
}

}  // namespace reprise::pml
