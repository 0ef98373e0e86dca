#include "core/device/fetch_setting.h"

#include <charconv>

#include "core/base/error.h"

namespace reprise {
namespace {

constexpr int kMostBytes = 64 << 10;

[[noreturn]] void refuse(std::string_view text) {
  raise(
      "\"{}\" is no way to fetch ahead. Give level:far:near, such as l1:6144:2048: the cache (l1 "
      "or "
      "l2), the bytes to prefetch ahead (64 to {}), the bytes to load ahead (0 to those); with "
      ":twice behind, these are prefetched a second time instead",
      text, kMostBytes);
}

// Returns the text before the first colon of `rest`, and removes this text and the colon from
// `rest`.
std::string_view next_part(std::string_view* rest) {
  const size_t colon = rest->find(':');
  const std::string_view part = rest->substr(0, colon);
  *rest = colon == std::string_view::npos ? std::string_view() : rest->substr(colon + 1);
  return part;
}

bool parse_bytes(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

const char* name_of(FetchSetting::Level level) {
  return level == FetchSetting::Level::kL1 ? "l1" : "l2";
}

bool parse_level(std::string_view text, FetchSetting::Level* level) {
  *level = text == "l1" ? FetchSetting::Level::kL1 : FetchSetting::Level::kL2;
  return text == "l1" || text == "l2";
}

}  // namespace

std::string text_of(const FetchSetting& setting) {
  return fmt::format("{}:{}:{}{}", name_of(setting.level), setting.far_bytes, setting.near_bytes,
                     setting.near == FetchSetting::Near::kPrefetch ? ":twice" : "");
}

FetchSetting parse_fetch(std::string_view text) {
  std::string_view rest = text;
  FetchSetting setting;
  if (!parse_level(next_part(&rest), &setting.level)) refuse(text);
  const std::string_view far = next_part(&rest);
  constexpr std::string_view kTwice = ":twice";
  if (rest.ends_with(kTwice)) {
    setting.near = FetchSetting::Near::kPrefetch;
    rest.remove_suffix(kTwice.size());
  }
  if (!parse_bytes(far, &setting.far_bytes) || !parse_bytes(rest, &setting.near_bytes))
    refuse(text);
  const int least_near = setting.near == FetchSetting::Near::kPrefetch ? 64 : 0;
  if (setting.far_bytes < 64 || setting.far_bytes > kMostBytes || setting.near_bytes < least_near ||
      setting.near_bytes > setting.far_bytes)
    refuse(text);
  return setting;
}

std::string text_of(const WeightFetch& fetch) {
  return fmt::format("{}:{}", name_of(fetch.level), fetch.bytes);
}

WeightFetch parse_weight_fetch(std::string_view text) {
  std::string_view rest = text;
  WeightFetch fetch;
  if (!parse_level(next_part(&rest), &fetch.level) || !parse_bytes(rest, &fetch.bytes) ||
      fetch.bytes < 0 || fetch.bytes > kMostBytes)
    raise(
        "\"{}\" is no way to fetch weights ahead. Give level:bytes, such as l2:4096: the cache (l1 "
        "or l2) and the bytes to prefetch ahead (0 to {})",
        text, kMostBytes);
  return fetch;
}

}  // namespace reprise
