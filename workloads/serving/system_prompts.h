// Requests that continue real system prompts with made-up tokens.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// `file` is a text or a folder of texts (.txt, .md), sorted by name. Each text is a declared
// prefix. A request draws one, uniformly or by Zipf's law, and continues with made-up tokens. Texts
// are tokenized separately, as a server keeps them.
SourceInfo system_prompts_info();
std::unique_ptr<Entries> make_system_prompts(const SourceOptions& options);

}  // namespace reprise::workloads::serving
