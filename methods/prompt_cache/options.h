// What can be chosen about Prompt Cache.
#pragma once

#include <string>
#include <vector>

#include "core/reuse/options.h"
#include "methods/prompt_cache/encoding.h"

namespace reprise::prompt_cache {

struct PromptCacheOptions {
  std::string mode = "isolated";
  double repair_ratio = 0.15;  // what CacheBlend recommends
  bool copies = false;

  void visit(reuse::OptionVisitor& visitor);
  static std::vector<reuse::Preset<PromptCacheOptions>> presets();
};

}  // namespace reprise::prompt_cache
