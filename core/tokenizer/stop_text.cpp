#include "core/tokenizer/stop_text.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace reprise::tokenizer {

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) REPRISE_CHECK(!stop.empty());
}

std::string StopText::push(std::string_view text, bool may_end) {
  std::string shown;
  for (size_t i = 0; i < text.size() && found_.empty(); ++i) {
    pending_ += text[i];
    for (const std::string& stop : stops_)
      if (may_end && pending_.ends_with(stop) && stop.size() > found_.size()) found_ = stop;
    const size_t kept = found_.empty() ? held_back() : found_.size();
    shown.append(pending_, 0, pending_.size() - kept);
    pending_.erase(0, pending_.size() - kept);
  }
  return shown;
}

std::string StopText::flush() {
  if (!found_.empty()) return "";
  return std::exchange(pending_, "");
}

// Returns the length of the longest end of pending_ that is the beginning of a stop text.
size_t StopText::held_back() const {
  size_t most = 0;
  for (const std::string& stop : stops_)
    for (size_t size = std::min(pending_.size(), stop.size() - 1); size > most; --size)
      if (pending_.ends_with(std::string_view(stop).substr(0, size))) most = size;
  return most;
}

}  // namespace reprise::tokenizer
