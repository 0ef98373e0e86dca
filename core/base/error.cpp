#include "core/base/error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "core/base/visible.h"

namespace reprise {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> last(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] =
          std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], last[j - 2] + 1);
    }
    last.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  // In bytes. Longer names are not compared, because names come from files and the time is
  // quadratic.
  constexpr size_t kLongestName = 256;
  if (name.size() > kLongestName) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty() || name.empty()) return best;
  for (const std::string& candidate : candidates)  // "ttft" for "ttft_ms"
    if (candidate.starts_with(name)) return candidate;
  return "";
}

std::string unknown_name(std::string_view what, std::string_view name,
                         std::span<const std::string> candidates) {
  std::string message =
      fmt::format("unknown {} \"{}\"", what, visible(name.substr(0, 200), /*kept=*/""));
  if (const std::string nearest = nearest_name(name, candidates); !nearest.empty())
    message += fmt::format(", did you mean \"{}\"?", nearest);
  else
    message += ".";
  message += " Known:";
  for (size_t i = 0; i < candidates.size(); ++i) message += (i == 0 ? " " : ", ") + candidates[i];
  return message;
}

namespace detail {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: internal check failed: %s  %s\n", file, line, condition,
               message.c_str());
  std::abort();
}

}  // namespace detail
}  // namespace reprise
