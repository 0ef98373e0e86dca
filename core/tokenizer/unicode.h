// Classes of code points and normal forms of text, as the tokenizers' rules need them.
#pragma once

#include <string>
#include <string_view>

namespace reprise::tokenizer {

// is_punctuation(), is_mark(), is_nonspacing_mark() and is_control_or_other() follow the Unicode
// versions of the tokenizers' own tables; see unicode_changes.h.
bool is_whitespace(char32_t code);        // the White_Space property
bool is_number(char32_t code);            // Nd, Nl, No
bool is_punctuation(char32_t code);       // P*, and ASCII symbols such as $ + < = > ^ ` | ~
bool is_mark(char32_t code);              // Mn, Mc, Me
bool is_nonspacing_mark(char32_t code);   // Mn
bool is_control_or_other(char32_t code);  // Cc, Cf, Co
// True for the characters that \w of a regular expression matches: letters, marks, decimal digits,
// connectors, letter numbers and circled letters.
bool is_word(char32_t code);
// True for characters around which BERT puts spaces: those of its blocks of Chinese, Japanese and
// Korean characters. BERT's table of these blocks has a gap, U+2B820-U+2B91F.
bool is_bert_cjk(char32_t code);

// Appends the full lower case of one character. Rules that depend on neighbouring characters are
// not applied. U+0130 becomes two characters.
void append_lower(std::string& out, char32_t code);

enum class NormalForm { kNFC, kNFD, kNFKC, kNFKD };
std::string normalized(std::string_view text, NormalForm form);

}  // namespace reprise::tokenizer
