// Reads the files of `reprise pml layout` and `reprise pml run`.
#pragma once

#include "experiments/kinds/latency/pml_files.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

using experiments::CompiledPml;
using experiments::PmlFiles;

// Adds --lenient.
void add_lenient(CLI::App& command, bool& is_lenient);
// Adds SCHEMA, PROMPT, --template, --as-coded and --lenient.
void add_pml_files(CLI::App& command, PmlFiles& files, bool needs_prompt);

// Calls experiments::compile_pml() and prints its notes, and notes on the tokenizer's files.
CompiledPml compile(const PmlFiles& files);

// Adds `reprise pml run`.
void add_pml_run(CLI::App& pml);

}  // namespace reprise::app
