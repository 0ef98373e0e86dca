// The traces of Azure's LLM inference service (2023 and 2024): times and lengths.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// CSV with the heading TIMESTAMP,ContextTokens,GeneratedTokens; times as 2023-11-16
// 18:15:46.6805900, with or without an offset. Prompts are made up and have nothing in common, but
// for the `shared_tokens` more of a declared prefix before each.
SourceInfo azure_info();
std::unique_ptr<Entries> make_azure(const SourceOptions& options);

}  // namespace reprise::workloads::serving
