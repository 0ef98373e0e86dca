// Joins matches to their neighbours as the split behavior requires.
#include "core/tokenizer/pieces.h"

#include <algorithm>

namespace reprise::tokenizer {
namespace {

// Joins neighbouring spans for which join(previous.is_match, this.is_match) is true. No text is
// lost.
template <typename Join>
void fold(std::vector<Span>& spans, Join&& join) {
  size_t kept = 0;
  bool was_match = false;
  for (size_t i = 0; i < spans.size(); ++i) {
    const Span span = spans[i];
    if (kept > 0 && join(was_match, span.is_match)) {
      spans[kept - 1].begin = std::min(spans[kept - 1].begin, span.begin);
      spans[kept - 1].end = std::max(spans[kept - 1].end, span.end);
    } else {
      spans[kept++] = {span.begin, span.end, false};
    }
    was_match = span.is_match;
  }
  spans.resize(kept);
}

}  // namespace

void apply_behavior(std::vector<Span>& spans, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::kRemoved:
      return;
    case SplitBehavior::kIsolated:
      for (Span& span : spans) span.is_match = false;
      return;
    case SplitBehavior::kContiguous:
      return fold(spans, [](bool previous, bool now) { return previous == now; });
    case SplitBehavior::kMergedWithPrevious:
      return fold(spans, [](bool previous, bool now) { return now && !previous; });
    case SplitBehavior::kMergedWithNext:
      // Goes from right to left, so that a match joins the text after it.
      std::reverse(spans.begin(), spans.end());
      fold(spans, [](bool previous, bool now) { return now && !previous; });
      std::reverse(spans.begin(), spans.end());
      return;
  }
}

}  // namespace reprise::tokenizer
