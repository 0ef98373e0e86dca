// Implements Regex with PCRE2: compile options, limits, and the search loop.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/tokenizer/regex.h"

#include <pcre2.h>

#include "core/base/error.h"
#include "core/tokenizer/regex_syntax.h"
#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {
namespace {

constexpr size_t kMaxPatternBytes = 16384;
constexpr uint32_t kMaxNesting = 100;
// Upper bounds on the steps and memory (in KiB) of one search. The patterns of tokenizers need a
// few steps per character. If nested repetitions make a search take very many steps, it is
// stopped after about 50 ms.
constexpr uint32_t kMatchLimit = 5'000'000;
constexpr uint32_t kHeapLimitKib = 65536;

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using CodePointer = std::unique_ptr<pcre2_code, Deleter<pcre2_code_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Deleter<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Deleter<pcre2_match_data_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, Deleter<pcre2_compile_context_free>>;

PCRE2_SPTR bytes_of(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data() == nullptr ? "" : text.data());
}

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

struct Regex::Code {
  std::string where;
  std::string literal;  // if not empty, this text is searched for and the pattern is not used
  CodePointer compiled;
  MatchContext limits;
  bool is_jit = false;
};

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

Regex::Regex(std::string_view pattern, std::string where) : code_(std::make_unique<Code>()) {
  code_->where = std::move(where);
  if (pattern.size() > kMaxPatternBytes)
    raise("{}: the regular expression has {} bytes, at most {} are accepted", code_->where,
          pattern.size(), kMaxPatternBytes);
  const std::string translated = pcre2_syntax(pattern, code_->where);
  const CompileContext context(pcre2_compile_context_create(nullptr));
  code_->limits.reset(pcre2_match_context_create(nullptr));
  if (!context || !code_->limits) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), kMaxNesting);
  pcre2_set_match_limit(code_->limits.get(), kMatchLimit);
  pcre2_set_heap_limit(code_->limits.get(), kHeapLimitKib);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->compiled.reset(
      pcre2_compile(bytes_of(translated), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                    &offset, context.get()));
  if (!code_->compiled)
    raise("{}: the regular expression \"{}\" cannot be compiled: {}", code_->where,
          pattern.substr(0, 200), message_of(error));
  code_->is_jit = pcre2_jit_compile(code_->compiled.get(), PCRE2_JIT_COMPLETE) == 0;
}

Regex Regex::literal(std::string_view text, std::string where) {
  Regex regex;
  regex.code_ = std::make_unique<Code>();
  regex.code_->where = std::move(where);
  regex.code_->literal = text;
  if (text.empty()) raise("{}: an empty pattern is not supported", regex.code_->where);
  return regex;
}

void Regex::find_all(std::string_view text, std::vector<Span>& spans) const {
  size_t covered = 0;  // all text before this is in `spans`
  const auto add = [&](size_t begin, size_t end) {
    if (covered < begin) spans.push_back({covered, begin, false});
    spans.push_back({begin, end, true});
    covered = end;
  };
  if (!code_->literal.empty()) {
    const std::string& literal = code_->literal;
    for (size_t at = text.find(literal); at != std::string_view::npos;
         at = text.find(literal, at + literal.size()))
      add(at, at + literal.size());
  } else {
    const MatchData data(pcre2_match_data_create_from_pattern(code_->compiled.get(), nullptr));
    if (!data) throw std::bad_alloc();
    const PCRE2_SIZE* found = pcre2_get_ovector_pointer(data.get());
    size_t start = 0;
    size_t last_end = std::string_view::npos;
    while (start <= text.size()) {
      int result = PCRE2_ERROR_JIT_STACKLIMIT;
      if (code_->is_jit)
        result = pcre2_jit_match(code_->compiled.get(), bytes_of(text), text.size(), start, 0,
                                 data.get(), code_->limits.get());
      // The interpreter keeps its stack on the heap, so it can continue where the compiled code
      // cannot.
      if (result == PCRE2_ERROR_JIT_STACKLIMIT)
        result = pcre2_match(code_->compiled.get(), bytes_of(text), text.size(), start,
                             PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data.get(), code_->limits.get());
      if (result == PCRE2_ERROR_NOMATCH) break;
      if (result < 0)
        raise("{}: the regular expression gave up on a text of {} bytes at byte {}: {}",
              code_->where, text.size(), start, message_of(result));
      if (found[0] > found[1])  // possible with \K inside a lookahead
        raise("{}: the regular expression matched backwards (\\K in a lookahead)", code_->where);
      if (found[0] == found[1] && found[1] == last_end) {
        if (start >= text.size()) break;
        start += utf8_at(text, start).bytes;
        continue;
      }
      if (found[0] >= covered) add(found[0], found[1]);
      start = last_end = found[1];
    }
  }
  if (covered < text.size()) spans.push_back({covered, text.size(), false});
}

}  // namespace reprise::tokenizer
