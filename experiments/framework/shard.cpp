#include "experiments/framework/shard.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/error.h"

namespace reprise::experiments {
namespace {

constexpr int64_t kMostShards = 10000;

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool has_leading_zero = text.size() > 1 && text[0] == '0';
  if (error != std::errc() || end != text.data() + text.size() || has_leading_zero)
    return std::nullopt;
  return value;
}

}  // namespace

std::string Shard::writer() const {
  if (is_whole()) return "";
  return fmt::format("{}{}of{}", is_dynamic ? "rank" : "", index + (is_dynamic ? 0 : 1), count);
}

std::string Shard::text() const {
  return is_dynamic ? fmt::format("rank {} of {}", index, count)
                    : fmt::format("shard {}/{}", index + 1, count);
}

Shard parse_shard(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash != std::string::npos) {
    const auto index = whole_number(std::string_view(text).substr(0, slash));
    const auto count = whole_number(std::string_view(text).substr(slash + 1));
    if (index && count && 1 <= *index && *index <= *count && *count <= kMostShards)
      return {.index = *index - 1, .count = *count};
  }
  raise(
      "--shard {}: expected i/n with 1 <= i <= n <= {}, such as --shard 2/4 for the second of four",
      text, kMostShards);
}

Shard shard_of_rank(const std::function<const char*(const char*)>& variable) {
  struct Launcher {
    const char* rank;
    const char* size;
  };
  constexpr Launcher kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                     {"PMI_RANK", "PMI_SIZE"},
                                     {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const Launcher& launcher : kLaunchers) {
    const char* rank_text = variable(launcher.rank);
    const char* size_text = variable(launcher.size);
    if (rank_text == nullptr || size_text == nullptr) continue;
    const auto rank = whole_number(rank_text), size = whole_number(size_text);
    if (!rank || !size || *rank < 0 || *rank >= *size || *size > kMostShards)
      raise("{} is {} and {} is {}: that is no rank of a job. Unset them, or give --shard i/n",
            launcher.rank, rank_text, launcher.size, size_text);
    return {.index = *rank, .count = *size, .is_dynamic = *size > 1};
  }
  return {};
}

}  // namespace reprise::experiments
