// Rewrites a pattern from the dialect tokenizer files are written in (Oniguruma's Ruby syntax) to
// PCRE2's.
#pragma once

#include <string>
#include <string_view>

namespace reprise::tokenizer {

// The same language in PCRE2's syntax, to be compiled with UTF, UCP and MULTILINE. What differs:
//   \s \w \d \h \v \b   have Oniguruma's Unicode meaning (PCRE2's \s has U+180E, its \w lacks
//   marks) [a[bc]]             nested sets are unions;  {,n} is {0,n};  (?m) lets '.' match
//   newlines \uHHHH              a code point
// Throws Error starting with `where` for what has no counterpart: [a&&b], [^..] inside a set, \W
// inside a set, {n,m}+, (?~..), \y, \Y.
std::string pcre2_syntax(std::string_view pattern, std::string_view where);

}  // namespace reprise::tokenizer
