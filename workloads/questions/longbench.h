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
// format. An item's task is its dataset. Throws Error naming file and sample for what the loaders
// refuse, for a folder without the dataset, for a context without the headings to cut at, and for a
// template without text after the context.
std::vector<Item> load_longbench(const std::filesystem::path& path,
                                 const LongBenchOptions& options = {});

}  // namespace reprise::workloads::questions
