// Questions behind real system prompts.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// `file` is a text, or a folder of texts (.txt, .md), in the order of their names. Each is a
// declared prefix; a request draws one evenly or by Zipf's law and goes on with made-up tokens.
// Texts are tokenized by themselves, as a server keeps them.
SourceInfo system_prompts_info();
std::unique_ptr<Entries> make_system_prompts(const SourceOptions& options);

}  // namespace reprise::workloads::serving
