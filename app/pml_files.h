// The files that `reprise pml layout` and `reprise pml run` read.
#pragma once

#include "experiments/kinds/latency/pml_files.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

using experiments::CompiledPml;
using experiments::PmlFiles;

// SCHEMA, PROMPT, --template and --as-coded.
void add_pml_files(CLI::App& command, PmlFiles& files, bool needs_prompt);

// experiments::compile_pml(), with a note of what a user should know of the tokenizer's files.
CompiledPml compile(const PmlFiles& files);

// `reprise pml run`.
void add_pml_run(CLI::App& pml);

}  // namespace reprise::app
