// Options of Prompt Cache.
#pragma once

#include <string>
#include <vector>

#include "core/reuse/options.h"
#include "methods/prompt_cache/encoding.h"
#include "methods/registry.h"

namespace reprise::prompt_cache {

struct PromptCacheOptions {
  std::string mode = "isolated";
  double repair_ratio = 0.15;  // the ratio that CacheBlend recommends
  bool copies = false;
  // The place of the modules' states when a request comes: host memory, files in the system's page
  // cache, files outside of it, or the memory of the device that computes.
  std::string tier = "host";  // "host", "disk", "cold_disk", "device"
  // The rules by which schemas and prompts are read: "pml" (docs/pml.md), or "as_coded" (the
  // released code).
  std::string rules = "pml";  // "pml", "as_coded"
  // The method that caches the keys and values of the tokens computed behind the imports.
  std::string cache = methods::kReferenceMethod;

  [[nodiscard]] bool is_in_files() const { return tier == "disk" || tier == "cold_disk"; }
  void visit(reuse::OptionVisitor& visitor);
  static std::vector<reuse::Preset<PromptCacheOptions>> presets();
};

}  // namespace reprise::prompt_cache
