#include "workloads/serving/registry.h"

#include "core/base/error.h"
#include "workloads/serving/entry_source.h"
#include "workloads/serving/sources.h"

namespace reprise::workloads {
namespace {

struct Entry {
  SourceInfo (*info)();
  std::unique_ptr<serving::Entries> (*make)(const SourceOptions& options);
};

// The list of all sources.
constexpr Entry kSources[] = {
    {serving::grid_info, serving::make_grid},
    {serving::groups_info, serving::make_groups},
    {serving::tree_info, serving::make_tree},
    {serving::recombined_info, serving::make_recombined},
    {serving::conversations_info, serving::make_conversations},
    {serving::sharegpt_info, serving::make_sharegpt},
    {serving::lengths_info, serving::make_lengths},
    {serving::mmlu_info, serving::make_mmlu},
    {serving::mmlu_lengths_info, serving::make_mmlu_lengths},
    {serving::system_prompts_info, serving::make_system_prompts},
    {serving::azure_info, serving::make_azure},
    {serving::burstgpt_info, serving::make_burstgpt},
    {serving::mooncake_info, serving::make_mooncake},
    {serving::bailian_info, serving::make_bailian},
    {serving::weka_info, serving::make_weka},
    {serving::agentic_coding_info, serving::make_agentic_coding},
    {serving::servegen_info, serving::make_servegen},
};

}  // namespace

std::vector<SourceInfo> known_request_sources() {
  std::vector<SourceInfo> infos;
  for (const Entry& entry : kSources) infos.push_back(entry.info());
  return infos;
}

std::unique_ptr<RequestSource> make_request_source(const std::string& name,
                                                   const SourceOptions& options) {
  std::vector<std::string> names;
  for (const Entry& entry : kSources) {
    names.push_back(entry.info().name);
    if (names.back() != name) continue;
    check_options(entry.info(), options, known_request_sources());
    return std::make_unique<serving::EntrySource>(name, entry.make(options), options);
  }
  raise("{}", unknown_name("source", name, names));
}

}  // namespace reprise::workloads
