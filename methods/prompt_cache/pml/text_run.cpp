#include "methods/prompt_cache/pml/text_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/tokenizer/unicode.h"
#include "core/tokenizer/utf8.h"
#include "methods/prompt_cache/pml/source.h"

namespace reprise::pml {
namespace {

// True for what \s matches in Python, with which the released code trims texts.
bool is_python_space(char32_t code) {
  return tokenizer::is_whitespace(code) || (code >= 0x1c && code <= 0x1f);
}

// Returns the number of bytes of white space at the beginning of `text`.
size_t leading_space(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const tokenizer::Utf8Char next = tokenizer::utf8_at(text, at);
    if (!is_python_space(next.code)) break;
    at += next.bytes;
  }
  return at;
}

// Returns the number of bytes of white space at the end of `text`.
size_t trailing_space(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const tokenizer::Utf8Char last = tokenizer::utf8_before(text, end);
    if (!is_python_space(last.code)) break;
    end -= last.bytes;
  }
  return text.size() - end;
}

}  // namespace

void TextRun::add(const Text& text) {
  Item item{.kind = text.is_verbatim ? Kind::kVerbatim : Kind::kText,
            .text = text.text,
            .place = text.place};
  if (template_.merges_double_newlines && !text.is_file)
    for (size_t at = 0; (at = item.text.find("\n\n", at)) != item.text.npos; ++at)
      item.text.erase(at, 1);
  items_.push_back(std::move(item));
}

void TextRun::add_marker(Role role, Part part, Place place) {
  const Turn& turn = template_.turn(role);
  if (!template_.is_recognized)
    raise(
        "turns are written in the model's chat template, which is none of those that are known "
        "({}): write the turns' markers as text, or name a template with --template, which pml run "
        "and pml layout take",
        fmt::join(template_names(), ", "));
  if (role == Role::kSystem && part != Part::kEmpty && !template_.has_system)
    raise(
        "chat template {} knows no system text: put it into the first user's turn, or choose "
        "another template, such as plain",
        template_.name);
  // The released code drops spaces before <system>, but neither line breaks nor spaces before
  // <system/>.
  if (rules_ == Rules::kAsCoded && role == Role::kSystem && part == Part::kOpen &&
      !items_.empty() && items_.back().kind == Kind::kText) {
    std::string& text = items_.back().text;
    text.erase(text.find_last_not_of(' ') + 1);
  }
  add_marker(part == Part::kOpen    ? turn.open
             : part == Part::kClose ? turn.close
                                    : turn.empty,
             place);
}

void TextRun::add_marker(const Marker& marker, Place place) {
  // An empty marker still separates the texts around it.
  items_.push_back({.kind = Kind::kMarker, .place = place});
  for (const MarkerPart& part : marker) {
    if (part.special == Special::kNone)
      items_.push_back({.kind = Kind::kMarker, .text = std::string(part.text), .place = place});
    else
      add_special(part.special, place);
  }
}

void TextRun::add_special(Special special, Place place) {
  Item item{.kind = Kind::kSpecial, .place = place};
  if (special == Special::kOpening) {
    item.ids = encoder_.opening;
  } else {
    const std::optional<int32_t> id = special == Special::kBos ? encoder_.bos : encoder_.eos;
    if (!id)
      raise(
          "chat template {} writes the tokens that begin and end a text around turns, and the "
          "tokenizer names none; leave out the turns, or choose another template, such as plain",
          template_.name);
    item.ids = {*id};
  }
  items_.push_back(std::move(item));
}

// Joins the adjacent texts of items [first, end) and trims them by PML's rules for white space.
std::string TextRun::trimmed(size_t first, size_t end, bool is_beginning,
                             bool& ends_in_space) const {
  std::string text;
  for (size_t i = first; i < end; ++i) text += items_[i].text;
  const auto is_marker = [](const Item& item) {
    return item.kind == Kind::kMarker || item.kind == Kind::kSpecial;
  };
  const bool is_first = first == 0, is_last = end == items_.size();
  const bool after_marker = !is_first && is_marker(items_[first - 1]);
  const bool before_marker = !is_last && is_marker(items_[end]);
  const bool after_verbatim = !is_first && !after_marker;
  const bool before_verbatim = !is_last && !before_marker;
  const size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  if (begin == text.size()) {
    if (text.empty() || after_marker) return "";
    if (is_last) ends_in_space = !(is_first && is_beginning);
    if (!before_verbatim) return "";
    return after_verbatim ? text : is_beginning ? "" : " ";
  }
  const size_t stop = text.find_last_not_of(kBlank) + 1;
  if (is_last) ends_in_space = stop < text.size();
  std::string out = after_verbatim ? text.substr(0, begin) : "";
  if (is_first && begin > 0 && !is_beginning) out.push_back(' ');
  out += text.substr(begin, stop - begin);
  if (before_verbatim) out += text.substr(stop);
  return out;
}

void TextRun::trim(bool is_beginning, bool& ends_in_space) {
  std::vector<Item> out;
  for (size_t i = 0; i < items_.size();) {
    if (items_[i].kind != Kind::kText) {
      out.push_back(items_[i++]);
      continue;
    }
    size_t end = i;
    while (end < items_.size() && items_[end].kind == Kind::kText) ++end;
    const std::string text = trimmed(i, end, is_beginning, ends_in_space);
    while (i + 1 < end && items_[i].text.find_first_not_of(kBlank) == std::string::npos) ++i;
    out.push_back({.text = text, .place = items_[i].place});
    i = end;
  }
  items_ = std::move(out);
}

// Trims only the two ends of the run. A marker's text at an end is trimmed like any other text.
void TextRun::trim_as_coded() {
  std::string all;
  for (const Item& item : items_) all += item.kind == Kind::kSpecial ? "\x01" : item.text;
  size_t leading = leading_space(all);
  if (leading == all.size()) {
    const Place place = items_.front().place;
    items_.clear();
    if (!all.empty() && !is_of_prompt_) items_.push_back({.text = " ", .place = place});
    return;
  }
  size_t trailing = trailing_space(all);
  const bool has_leading = leading > 0 && !is_of_prompt_;
  const bool has_trailing = trailing > 0 && !is_of_prompt_;
  for (size_t i = 0; leading > 0; ++i) {
    const size_t taken = std::min(leading, items_[i].text.size());
    items_[i].text.erase(0, taken);
    leading -= taken;
  }
  for (size_t i = items_.size(); trailing > 0;) {
    std::string& text = items_[--i].text;
    const size_t taken = std::min(trailing, text.size());
    text.erase(text.size() - taken);
    trailing -= taken;
  }
  if (has_leading) items_.insert(items_.begin(), Item{.text = " ", .place = items_.front().place});
  if (has_trailing) items_.push_back({.text = " ", .place = items_.back().place});
}

std::vector<int32_t> TextRun::encode() const {
  std::vector<int32_t> ids;
  std::string text;
  const auto flush = [&] {
    if (text.empty()) return;
    const bool follows_special = !ids.empty() && encoder_.encode_after_special;
    const std::vector<int32_t> more =
        follows_special ? encoder_.encode_after_special(text) : encoder_.encode(text);
    ids.insert(ids.end(), more.begin(), more.end());
    text.clear();
  };
  for (const Item& item : items_) {
    text += item.text;
    if (item.ids.empty()) continue;
    flush();
    ids.insert(ids.end(), item.ids.begin(), item.ids.end());
  }
  flush();
  return ids;
}

TextRun::Tokens TextRun::finish(bool is_beginning) {
  Tokens out;
  if (items_.empty()) return out;
  for (const Item& item : items_)
    if (item.kind == Kind::kSpecial || item.text.find_first_not_of(kBlank) != item.text.npos)
      out.is_blank = false;
  if (rules_ == Rules::kAsCoded)
    trim_as_coded();
  else
    trim(is_beginning, out.ends_in_space);
  for (const Item& item : items_) {
    if (item.text.empty() && item.ids.empty()) continue;
    out.place = item.place;
    break;
  }
  out.ids = encode();
  items_.clear();
  return out;
}

}  // namespace reprise::pml
