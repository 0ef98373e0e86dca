// Loads the original files of HotpotQA, MuSiQue and QMSum as LongBench samples. LongBench's sets of
// these names were made from the original sets, whose files hold each document separately.
#pragma once

#include <filesystem>
#include <vector>

#include "workloads/longbench/samples.h"

namespace reprise::workloads::longbench {

// Common to the loaders below: each paragraph becomes a document in LongBench's form, with the
// lines "Passage 3:", title and text. `length` counts words between spaces. Throws Error with the
// file and the entry's index for a value that is missing or of another type.

// Loads HotpotQA with distractors from its own JSON: question, answer, context, supporting_facts.
std::vector<Sample> load_hotpotqa(const std::filesystem::path& path);

// Loads MuSiQue from one JSON list: question, answer, answer_aliases, paragraphs. Questions marked
// as not answerable are left out, as in LongBench.
std::vector<Sample> load_musique(const std::filesystem::path& path);

// Loads QMSum's JSON lines, one meeting each: one sample per general or specific query. The
// transcript is one document, the same for all queries, with a line per turn.
std::vector<Sample> load_qmsum(const std::filesystem::path& path);

}  // namespace reprise::workloads::longbench
