#include "methods/prompt_cache/options.h"

namespace reprise::prompt_cache {

void PromptCacheOptions::visit(reuse::OptionVisitor& visitor) {
  visitor.word({"mode", "",
                "how modules are encoded: each by itself, in one pass over the schema, by "
                "themselves with sets together, by themselves with the farthest tokens anew"},
               mode_names(), mode);
  visitor.real({"repair_ratio", "ratio", "of the imported tokens, those that repair computes anew"},
               {0, 1}, repair_ratio);
  visitor.boolean({"copies", "", "imported states are gathered in one buffer before they are used"},
                  copies);
  visitor.word({"tier", "",
                "where the modules lie when a request comes: in memory, in files that the system "
                "has in memory, in files that it has not, in the memory of the device that "
                "computes (with --device cuda, which copies them there from the others)"},
               {"host", "disk", "cold_disk", "device"}, tier);
  visitor.word({"rules", "",
                "by which schemas and prompts are read: as docs/pml.md says, or as the released "
                "code does"},
               {"pml", "as_coded"}, rules);
  visitor.text({"cache", "", "method that caches what is computed behind the imports"},
               "a method that is a cache", cache);
}

std::vector<reuse::Preset<PromptCacheOptions>> PromptCacheOptions::presets() {
  return {{"in_place", "modules apart, read where they lie", {}},
          // Each module is computed alone, the joint states of scaffolds override those of their
          // modules, and imported states are gathered in a buffer. [Prompt Cache §3.3, §4.2]
          {"as_published",
           "the paper: modules apart, scaffolds, states gathered in a buffer",
           {.mode = "scaffold", .copies = true}},
          // The released code computes the schema as one text, cuts the modules' states out of the
          // result, and copies them.
          {"as_coded",
           "the released code: one pass over the whole schema, states gathered in a buffer",
           {.mode = "joint", .copies = true, .rules = "as_coded"}}};
}

}  // namespace reprise::prompt_cache
