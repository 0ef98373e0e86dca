// Text as Python's str sees it: code points, and what str.split(), str.lower() and the regular
// expressions \d and \w take for a space, a digit or a letter. LongBench's scores are defined in
// these terms.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::longbench {

// Throws Error for text that is not valid UTF-8.
std::u32string code_points(std::string_view text);
std::string utf8(std::u32string_view text);

bool is_space(char32_t code);    // str.isspace(): White_Space, and U+001C to U+001F
bool is_decimal(char32_t code);  // \d: category Nd
bool is_word(char32_t code);     // \w: categories L* and N*, and the underscore; no marks

// str.lower(): full mappings, a sigma that ends a word among them.
std::u32string lower(std::u32string_view text);
// str.split(): the runs between spaces; none is empty.
std::vector<std::u32string> split(std::u32string_view text);
// str.split(separator): always one more than there are separators.
std::vector<std::u32string> split_at(std::u32string_view text, char32_t separator);
// str.lstrip("\n")
std::u32string_view without_leading_newlines(std::u32string_view text);

}  // namespace reprise::workloads::longbench
