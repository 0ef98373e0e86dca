// Constants that the reader and the writer of a map store share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace reprise::attn_cache {

inline constexpr std::string_view kMapStoreBegin = "RPRMAP1\n";
inline constexpr std::string_view kMapStoreEnd = "RPRMAPE\n";
inline constexpr size_t kMapStoreTail = 3 * sizeof(uint64_t) + kMapStoreEnd.size();
inline constexpr size_t kGroupWords = 3;            // tokens, prompt_hash, begin
inline constexpr int64_t kMostMapTokens = 1 << 16;  // per prompt, so that sizes do not overflow

// Throws Error: "PATH is no sound map store: FAULT. ..."
[[noreturn]] void refuse_map_store(const std::filesystem::path& path, const std::string& fault);

}  // namespace reprise::attn_cache
