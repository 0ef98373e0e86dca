// Collected samples in a file, to train a projector later or elsewhere.
#pragma once

#include <filesystem>

#include "methods/attn_cache/database.h"

namespace reprise::attn_cache {

inline constexpr const char* kSamplesFile = "samples.safetensors";

// Write and read a .safetensors file with x [entries, inputs] f32 and, as metadata, the projector's
// shape, the entries and MapStore::id() of the prompts' maps. load_samples() throws Error naming
// the path if the file is invalid or has another id than `maps`.
void save_samples(const std::filesystem::path& path, const SampleSet& samples,
                  const MapStore& maps);
SampleSet load_samples(const std::filesystem::path& path, const MapStore& maps);

}  // namespace reprise::attn_cache
