// The traces of Azure's LLM inference service (2023 and 2024): arrival times and lengths.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Reads CSV with the heading TIMESTAMP,ContextTokens,GeneratedTokens; times look like 2023-11-16
// 18:15:46.6805900, with or without an offset. Prompts are made up and share nothing, except a
// declared prefix: `shared_tokens` tokens that are added before each prompt.
SourceInfo azure_info();
std::unique_ptr<Entries> make_azure(const SourceOptions& options);

}  // namespace reprise::workloads::serving
