// BurstGPT's traces of ChatGPT and GPT-4 on Azure: arrival times and lengths.
//
// Files are CSV with the heading Timestamp,Model,Request tokens,Response tokens,Total tokens,Log
// Type, in release 2 with "Session ID" and "Elapsed time" [BurstGPT, KDD'25]. Timestamps are
// seconds. A failed request has no response tokens and is left out.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

SourceInfo burstgpt_info();
std::unique_ptr<Entries> make_burstgpt(const SourceOptions& options);

}  // namespace reprise::workloads::serving
