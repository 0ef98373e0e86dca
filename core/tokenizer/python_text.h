// Text as Python's str treats it: code points, and the spaces, digits and letters of str.split(),
// str.lower(), \d and \w. LongBench's scores are defined in these terms, and so is the way in
// which sentence-transformers prepares texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise::python {

// Throws Error for text that is not valid UTF-8.
std::u32string code_points(std::string_view text);
std::string utf8(std::u32string_view text);

bool is_space(char32_t code);    // str.isspace(): White_Space, and U+001C to U+001F
bool is_decimal(char32_t code);  // \d: category Nd
bool is_upper(char32_t code);    // str.isupper() of one character
bool is_word(char32_t code);     // \w: categories L* and N*, and the underscore; not marks

// str.lower(): full case mappings, including the sigma at the end of a word.
std::u32string lower(std::u32string_view text);
// str.split(): the runs between spaces, none empty.
std::vector<std::u32string> split(std::u32string_view text);
// str.split(separator): one more part than there are separators.
std::vector<std::u32string> split_at(std::u32string_view text, char32_t separator);
// str.lstrip("\n")
std::u32string_view without_leading_newlines(std::u32string_view text);

}  // namespace reprise::python
