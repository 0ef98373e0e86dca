// Translates a pattern from Oniguruma's Ruby syntax, which tokenizer files use, to PCRE2's syntax.
#pragma once

#include <string>
#include <string_view>

namespace reprise::tokenizer {

// Returns an equivalent pattern for PCRE2 with UTF, UCP and MULTILINE. Translates \s \w \d \h \v
// \b, nested sets such as [a[bc]], {,n}, (?m) and \uHHHH. Throws Error, which begins with `where`,
// for constructs that PCRE2 cannot express: [a&&b], [^..] or \W inside a set, {n,m}+, (?~..), \y,
// \Y.
std::string pcre2_syntax(std::string_view pattern, std::string_view where);

}  // namespace reprise::tokenizer
