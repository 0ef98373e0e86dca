// The sources of requests. prefix_tree.cpp describes grid, groups, tree and system_prompts, and
// NAME.cpp any other source NAME. make_request_source() calls check_options() before make_NAME().
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

SourceInfo agentic_coding_info();
SourceInfo azure_info();
SourceInfo bailian_info();
SourceInfo burstgpt_info();
SourceInfo conversations_info();
SourceInfo grid_info();
SourceInfo groups_info();
SourceInfo lengths_info();
SourceInfo mmlu_info();
SourceInfo mmlu_lengths_info();
SourceInfo mooncake_info();
SourceInfo recombined_info();
SourceInfo servegen_info();
SourceInfo sharegpt_info();
SourceInfo system_prompts_info();
SourceInfo tree_info();
SourceInfo weka_info();

std::unique_ptr<Entries> make_agentic_coding(const SourceOptions& options);
std::unique_ptr<Entries> make_azure(const SourceOptions& options);
std::unique_ptr<Entries> make_bailian(const SourceOptions& options);
std::unique_ptr<Entries> make_burstgpt(const SourceOptions& options);
std::unique_ptr<Entries> make_conversations(const SourceOptions& options);
std::unique_ptr<Entries> make_grid(const SourceOptions& options);
std::unique_ptr<Entries> make_groups(const SourceOptions& options);
std::unique_ptr<Entries> make_lengths(const SourceOptions& options);
std::unique_ptr<Entries> make_mmlu(const SourceOptions& options);
std::unique_ptr<Entries> make_mmlu_lengths(const SourceOptions& options);
std::unique_ptr<Entries> make_mooncake(const SourceOptions& options);
std::unique_ptr<Entries> make_recombined(const SourceOptions& options);
std::unique_ptr<Entries> make_servegen(const SourceOptions& options);
std::unique_ptr<Entries> make_sharegpt(const SourceOptions& options);
std::unique_ptr<Entries> make_system_prompts(const SourceOptions& options);
std::unique_ptr<Entries> make_tree(const SourceOptions& options);
std::unique_ptr<Entries> make_weka(const SourceOptions& options);

}  // namespace reprise::workloads::serving
