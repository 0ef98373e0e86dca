// Traces of coding agents: conversations whose prompts are described by block ids, with recorded
// pauses. Several agents may work for one conversation at the same time.
//
// A file is a JSON object {id, block_size, hash_id_scope, requests}. A request is {t (s), type,
// in, out, hash_ids, api_time (s), think_time (s)} with an id for each whole block of its `in`
// tokens; `out` tokens were generated. A request of type "subagent" holds the requests of another
// agent [kv-cache-tester, Weka; SemiAnalysis].
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Reads a file, a file of JSON Lines with one conversation a line, or a folder of such files. Equal
// ids mean equal blocks only within a conversation, unless hash_id_scope is "global". An agent's
// request waits for the answer to the agent's previous request. Agents listed between these two
// requests work for that agent: they begin at the previous answer, and the later request waits for
// their last answers.
SourceInfo weka_info();
std::unique_ptr<Entries> make_weka(const SourceOptions& options);

}  // namespace reprise::workloads::serving
