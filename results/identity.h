// Whose results these are: the code, the machine, the weights and texts that they were measured
// with. Points of one folder are compared with one another, so they have to be of one identity.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::results {

// {code: {revision, modified, compiler, flags}, machine: {cpu, cores}, sources}. `sources` is
//   models    {name as the experiment has it: {config: hash of its config.json, weights: {file:
//             {bytes, content: hash}}}}; random weights have no files
//   workload  {file, hash}, where it takes a file
// of which there are as many as the experiment has.
[[nodiscard]] Json identity_json(const std::string& cpu, int64_t cores, const Json& sources);

// What tells two identities, or two runs' settings, apart, in words: "scale desk, was smoke",
// "code revision a1b2c3, was d4e5f6", "weights of models/a: model.safetensors content 12ab, was
// 34cd". The first few differences; "" where there is none.
[[nodiscard]] std::string difference_text(const Json& now, const Json& before);

// What in these records is of several revisions, builds, machines or weights, as a sentence; ""
// where all are of one.
[[nodiscard]] std::string mixed_note(const std::vector<Json>& records);

}  // namespace reprise::results
