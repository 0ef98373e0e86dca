// The identity of results: the code, machine, weights and texts they were measured with. Points of
// one folder are compared with one another, so they must share one identity.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "results/record.h"

namespace reprise::results {

// Returns {code: {revision, modified, compiler, flags}, machine: {cpu, cores, gpu}, sources}. `gpu`
// is DeviceRuntime::description(), and absent if it is "", which means the CPU. `sources` has these
// members, as far as the experiment has such files:
//   models        by name: {FILE: hash} for config.json and the tokenizer's files, and weights:
//                 {FILE: {bytes, content: hash}} unless they are random
//   workload      {file, hash} or {file, files: {FILE: hash}}, and hashes of the files that are
//                 read beside the file; or all this for each of its "sets"
//   method_files  {FILE: hash} of files that options of methods name
[[nodiscard]] Fields identity_fields(const std::string& cpu, int64_t cores, const Fields& sources,
                                     const std::string& gpu = "");

// Describes how two identities or settings differ: "scale desk, was smoke", "code revision a1b2c3,
// was d4e5f6", "weights of models/a: model.safetensors content 12ab, was 34cd". Names the first six
// differences and counts the others; "" if there is none.
[[nodiscard]] std::string difference_text(const Fields& now, const Fields& before);

// Returns a sentence that names the revisions, builds, machines and model files in which these
// records differ; "" if they do not differ.
[[nodiscard]] std::string mixed_note(const std::vector<Record>& records);

// Returns the machine's measured limits by name. A GPU's limits have names such as "GPU read_gb_s".
[[nodiscard]] std::map<std::string, double> measured_limits(const Machine& machine);

}  // namespace reprise::results
