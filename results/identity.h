// The identity of results: the code, machine, weights and texts they were measured with. Points of
// one folder are compared with one another, so they must share one identity.
#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace reprise::results {

// Returns {code: {revision, modified, compiler, flags}, machine: {cpu, cores}, sources}. `sources`
// has models (by name: {config: hash of config.json, weights: {file: {bytes, content: hash}}}; none
// for random weights) and workload ({file, hash}), as far as the experiment has them.
[[nodiscard]] Fields identity_fields(const std::string& cpu, int64_t cores, const Fields& sources);

// Describes how two identities or settings differ: "scale desk, was smoke", "code revision a1b2c3,
// was d4e5f6", "weights of models/a: model.safetensors content 12ab, was 34cd". Only the first few
// differences; "" if there is none.
[[nodiscard]] std::string difference_text(const Fields& now, const Fields& before);

// Returns a sentence on what is mixed in these records (revisions, builds, machines, weights); ""
// if nothing is.
[[nodiscard]] std::string mixed_note(const std::vector<Record>& records);

}  // namespace reprise::results
