// Loads the original files of HotpotQA, MuSiQue and QMSum as LongBench samples. LongBench's sets of
// these names were made from the original sets, whose files hold each document separately.
#pragma once

#include <filesystem>
#include <vector>

#include "workloads/longbench/samples.h"

namespace reprise::workloads::longbench {

// All loaders below set `length` to the number of words between spaces. They throw Error for a
// value that is missing or of another type, with the file and the question's number (QMSum: the
// line). HotpotQA's and MuSiQue's paragraphs each become a document in LongBench's form, with the
// lines "Passage 3:", title and text.

// Loads HotpotQA with distractors from its own JSON: question, answer, context, supporting_facts.
std::vector<Sample> load_hotpotqa(const std::filesystem::path& path);

// Loads MuSiQue from one JSON list: question, answer, answer_aliases, paragraphs. Questions marked
// as not answerable are left out, as in LongBench.
std::vector<Sample> load_musique(const std::filesystem::path& path);

// Loads QMSum's JSON Lines, one meeting per line. Each general or specific query becomes a sample.
// Its only document is the meeting's transcript, with a line per turn.
std::vector<Sample> load_qmsum(const std::filesystem::path& path);

}  // namespace reprise::workloads::longbench
