#include "workloads/serving/prompt_part.h"

#include <algorithm>

#include "workloads/random_tokens.h"

namespace reprise::workloads::serving {
namespace {

// The tokens of one part, one by one.
class PartTokens {
 public:
  PartTokens(const PromptPart& part, const TokenStream& stream)
      : text_(part.text), random_(stream.seed, part.item, stream.vocab) {}
  [[nodiscard]] int32_t operator[](int64_t t) const {
    return text_ != nullptr ? text_[t] : random_.token(t);
  }

 private:
  const int32_t* text_;
  RandomItem random_;
};

bool are_same_text(const PromptPart& a, const PromptPart& b) {
  return a.text == b.text && (a.text != nullptr || a.item == b.item);
}

// A position in a prompt.
class Walk {
 public:
  explicit Walk(std::span<const PromptPart> parts) : parts_(parts) { skip_ended(); }

  [[nodiscard]] bool at_end() const { return parts_.empty(); }
  [[nodiscard]] const PromptPart& part() const { return parts_.front(); }
  [[nodiscard]] int64_t at() const { return at_; }
  [[nodiscard]] int64_t rest() const { return part().tokens - at_; }
  void advance(int64_t tokens) {
    at_ += tokens;
    skip_ended();
  }

 private:
  void skip_ended() {
    while (!parts_.empty() && at_ >= parts_.front().tokens) {
      parts_ = parts_.subspan(1);
      at_ = 0;
    }
  }

  std::span<const PromptPart> parts_;
  int64_t at_ = 0;  // tokens already passed of the first part
};

}  // namespace

std::vector<int32_t> tokens_of(std::span<const PromptPart> parts, const TokenStream& stream) {
  std::vector<int32_t> tokens(static_cast<size_t>(count_tokens(parts)));
  int32_t* next = tokens.data();
  for (const PromptPart& part : parts) {
    const PartTokens of_part(part, stream);
    for (int64_t t = 0; t < part.tokens; ++t) *next++ = of_part[t];
  }
  return tokens;
}

int64_t count_tokens(std::span<const PromptPart> parts) {
  int64_t tokens = 0;
  for (const PromptPart& part : parts) tokens += part.tokens;
  return tokens;
}

void cut_to(std::vector<PromptPart>& parts, int64_t tokens) {
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].tokens = std::min(parts[i].tokens, tokens);
    tokens -= parts[i].tokens;
    if (tokens == 0) parts.resize(i + 1);
  }
}

int32_t token_at(std::span<const PromptPart> parts, int64_t place, const TokenStream& stream) {
  for (const PromptPart& part : parts) {
    if (place < part.tokens) return PartTokens(part, stream)[place];
    place -= part.tokens;
  }
  return -1;
}

PromptComparison compare_prompts(std::span<const PromptPart> a, std::span<const PromptPart> b,
                                 const TokenStream& stream) {
  Walk x(a), y(b);
  int64_t common = 0;
  while (!x.at_end() && !y.at_end()) {
    const int64_t run = std::min(x.rest(), y.rest());
    if (x.at() != y.at() || !are_same_text(x.part(), y.part())) {
      const PartTokens of_x(x.part(), stream), of_y(y.part(), stream);
      for (int64_t t = 0; t < run; ++t, ++common)
        if (const int32_t i = of_x[x.at() + t], j = of_y[y.at() + t]; i != j)
          return {.common = common, .is_before = i < j};
    } else {
      common += run;
    }
    x.advance(run);
    y.advance(run);
  }
  return {.common = common, .is_before = x.at_end() && !y.at_end()};
}

}  // namespace reprise::workloads::serving
