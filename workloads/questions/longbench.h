// LongBench (Bai et al., 2023) as items: its samples in the prompts of a configuration, cut into
// documents.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

struct LongBenchOptions {
  // dataset2prompt.json and dataset2maxlen.json, LongBench's, or the Prompt Cache authors' of
  // similar names; which of them decides what a prompt says. Empty: the files' own folder.
  std::filesystem::path templates = {};
  std::string dataset = "all";  // of a folder, or all that it holds
  // Whether a context becomes the documents it was put together from, or stays one.
  bool cuts_documents = true;
};

// The samples of `path`: an official file, a folder of them, or a file of HotpotQA, MuSiQue or
// QMSum in their own formats. An item's parts are those of the filled template: its preamble stands
// ahead of the context, its question behind it, and its cue is the beginning of the model's turn,
// where a template has one. Text that the authors' templates put behind the context, but before the
// question, belongs to the last document. Control characters, which no PML can carry, become
// spaces. Nothing is cut off (cut_middle()). The task is the dataset, and so many tokens are
// generated at most as the configuration says. Throws Error naming file and sample for what the
// loaders refuse, for a folder without the dataset, with those it has, for a context without the
// headings it would be cut at, and for a template that asks nothing behind the context.
std::vector<Item> load_longbench(const std::filesystem::path& path,
                                 const LongBenchOptions& options = {});

}  // namespace reprise::workloads::questions
