// LongBench (Bai et al., 2023) as question items: its samples in the prompts of a configuration,
// cut into documents. An item's preamble is the template's text before the context, its question is
// the template's text after the context, and its cue is the beginning of the model's turn, if the
// template has it. Text that the Prompt Cache authors' templates put between context and question
// belongs to the last document. Control characters, which PML cannot carry, become spaces. Nothing
// is shortened (see cut_middle()).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

struct LongBenchOptions {
  // Folder with dataset2prompt.json and dataset2maxlen.json, LongBench's own or the Prompt Cache
  // authors' similarly named files. Empty: the folder of the question files.
  std::filesystem::path templates = {};
  std::string dataset = "all";  // one dataset of a folder, or all of them
  // True: a context is cut into its documents. False: it is one document.
  bool cuts_documents = true;
};

// Loads an official file, a folder of them, or a file of HotpotQA, MuSiQue or QMSum in its own
// format. An item's task is its dataset. Throws Error if a file cannot be read, if a folder has no
// file of options.dataset, if a context lacks the headings at which it is cut, or if a template has
// neither text nor a model's turn after the context. Errors about a sample name its dataset and id,
// or its file and line.
std::vector<Item> load_longbench(const std::filesystem::path& path,
                                 const LongBenchOptions& options = {});

}  // namespace reprise::workloads::questions
