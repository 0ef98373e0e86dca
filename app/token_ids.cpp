#include "app/token_ids.h"

#include <charconv>
#include <limits>

#include "core/base/error.h"
#include "core/base/visible.h"

namespace reprise::app {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f\v";

std::string_view without_blanks_before(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

bool is_digits(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

int32_t parse_one(std::string_view word, const std::string& source, size_t entry) {
  int32_t id = 0;
  const bool has_leading_zero = word.size() > 1 && word[0] == '0';
  const bool is_number =
      is_digits(word) && !has_leading_zero &&
      std::from_chars(word.data(), word.data() + word.size(), id).ec == std::errc();
  if (!is_number)
    raise(
        "{}, entry {}: found \"{}\", expected a whole number from 0 to {} in decimal digits, "
        "without sign or leading zeros",
        source, entry, visible(word.substr(0, 40)), std::numeric_limits<int32_t>::max());
  return id;
}

}  // namespace

std::vector<int32_t> parse_token_ids(std::string_view text, const std::string& source) {
  std::vector<int32_t> ids;
  text = without_blanks_before(text);
  if (text.empty()) return ids;
  while (true) {
    const size_t end = std::min(text.find_first_of(std::string(kBlanks) + ","), text.size());
    if (end == 0)
      raise("{}, entry {} is empty: give a number between two commas, and none at the ends", source,
            ids.size() + 1);
    ids.push_back(parse_one(text.substr(0, end), source, ids.size() + 1));
    text = without_blanks_before(text.substr(end));
    if (text.empty()) return ids;
    if (text.front() == ',') text = without_blanks_before(text.substr(1));
  }
}

void require_in_vocabulary(std::span<const int32_t> ids, int64_t vocab, const std::string& model,
                           const std::string& source) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocab)
      raise(
          "{}, entry {}: token id {} is outside the vocabulary of {} that {} has: give ids from "
          "0 to {}",
          source, i + 1, ids[i], vocab, model, vocab - 1);
}

}  // namespace reprise::app
