// Cases computed by Hugging Face, written as PML: isolated spans, which are modules at given
// positions that do not see each other.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "tests/methods/prompt_cache/pml/pml_testing.h"
#include "tests/support/json.h"

namespace reprise::pml {

inline std::string words(const std::vector<int32_t>& ids) {
  return fmt::format("{}", fmt::join(ids, " "));
}

struct GoldenCase {
  std::vector<std::vector<int32_t>> spans;  // ids of each module
  std::vector<int32_t> suffix;
  std::vector<int64_t> starts;  // first positions of the spans, then of the suffix
};

inline GoldenCase golden_case_of(const Json& golden, const Json& layout) {
  const auto ids = golden.at("ids").get<std::vector<int32_t>>();
  const auto cut = [&](const Json& span) {
    return std::vector<int32_t>(ids.begin() + span.at(0).get<int>(),
                                ids.begin() + span.at(1).get<int>());
  };
  GoldenCase out{.suffix = cut(layout.at("suffix")), .starts = layout.at("start_positions")};
  for (const Json& span : layout.at("spans")) out.spans.push_back(cut(span));
  return out;
}

// A schema with modules a, b, c by position, and gaps between them and before the suffix.
inline std::string schema_for(const GoldenCase& one) {
  std::vector<size_t> order(one.spans.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t i, size_t j) { return one.starts[i] < one.starts[j]; });
  std::string text = "<schema name=\"golden\">";
  int64_t position = 0;
  const auto move_to = [&](int64_t start) {
    if (start > position) text += fmt::format("<gap len=\"{}\"/>", start - position);
    position = start;
  };
  for (const size_t i : order) {
    move_to(one.starts[i]);
    text += fmt::format("<module name=\"{}\">{}</module>", static_cast<char>('a' + i),
                        words(one.spans[i]));
    position += static_cast<int64_t>(one.spans[i].size());
  }
  move_to(one.starts.back());
  return text + "</schema>";
}

inline std::string prompt_for(const GoldenCase& one) {
  return "<prompt schema=\"golden\"><a/><b/><c/>" + words(one.suffix) + "</prompt>";
}

}  // namespace reprise::pml
