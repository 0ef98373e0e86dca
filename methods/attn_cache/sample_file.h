// Collected samples in a file: what a projector is trained on, later or elsewhere.
#pragma once

#include <filesystem>

#include "methods/attn_cache/database.h"

namespace reprise::attn_cache {

inline constexpr const char* kSamplesFile = "samples.safetensors";

// A .safetensors file with x [entries, inputs] f32; the projector's shape, the entries and the id
// of the maps that they name as metadata. load_samples() throws Error naming the path for a file
// that is none, and where the samples are of other maps than `maps`.
void save_samples(const std::filesystem::path& path, const SampleSet& samples,
                  const MapStore& maps);
SampleSet load_samples(const std::filesystem::path& path, const MapStore& maps);

}  // namespace reprise::attn_cache
