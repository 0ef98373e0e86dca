#include "methods/prompt_cache/pml/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/json.h"
#include "core/base/utf8_byte.h"

namespace reprise::pml {
namespace {

constexpr size_t kStride = 1024;

}  // namespace

std::string at(const std::string& file, Place place) {
  return fmt::format("{}:{}:{}", file, place.line, place.column);
}

Source::Source(std::string name, std::string text, std::filesystem::path folder)
    : name_(std::move(name)), text_(std::move(text)), folder_(std::move(folder)), line_starts_{0} {
  size_t characters = 0;
  for (size_t i = 0; i < text_.size(); ++i) {
    if (i % kStride == 0) characters_.push_back(characters);
    if (!continues_character(text_[i])) ++characters;
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
  characters_.push_back(characters);
}

Source Source::read(const std::filesystem::path& path, const Limits& limits) {
  std::filesystem::path folder = path.parent_path();
  if (folder.empty()) folder = ".";
  return {path.string(), read_file(path, limits.file_bytes), std::move(folder)};
}

size_t Source::characters_before(size_t offset) const {
  const size_t stride = offset / kStride;
  if (stride * kStride >= text_.size()) return characters_.back();
  size_t count = characters_[stride];
  for (size_t i = stride * kStride; i < offset; ++i) count += continues_character(text_[i]) ? 0 : 1;
  return count;
}

Place Source::place_of(size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const size_t start = *(after - 1);
  return {static_cast<int32_t>(after - line_starts_.begin()),
          static_cast<int32_t>(characters_before(offset) - characters_before(start) + 1)};
}

void Report::add(Place place, std::string_view sentence) {
  constexpr size_t kMost = 100;
  problems_.add(fmt::format("{}: {}", at(file_, place), sentence));
  if (problems_.list().size() >= kMost) problems_.raise_if_any();
}

std::string unknown(std::string_view what, std::string_view name,
                    const std::vector<std::string>& candidates) {
  constexpr size_t kMost = 40;
  if (candidates.empty())
    return fmt::format("unknown {} \"{}\"; there are none here", what, name.substr(0, 200));
  if (candidates.size() <= kMost) return unknown_name(what, name, candidates);
  const std::string nearest = nearest_name(name, candidates);
  return fmt::format("unknown {} \"{}\"{} ({} are known here)", what, name.substr(0, 200),
                     nearest.empty() ? "" : fmt::format(", did you mean \"{}\"?", nearest),
                     candidates.size());
}

}  // namespace reprise::pml
