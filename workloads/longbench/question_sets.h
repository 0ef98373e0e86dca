// Question sets that are published with their documents apart, as samples of LongBench's form: the
// sources of LongBench's hotpotqa, musique and qmsum.
#pragma once

#include <filesystem>
#include <vector>

#include "workloads/longbench/samples.h"

namespace reprise::workloads::longbench {

// Each document is a paragraph as LongBench writes it: "Passage 3:", title and text, a line each.
// `length` counts words between spaces. Throws Error with the file and the entry's place in it for
// what is missing or of another type.

// HotpotQA with distractors, its own JSON: question, answer, context, supporting_facts.
std::vector<Sample> load_hotpotqa(const std::filesystem::path& path);

// MuSiQue as one JSON list: question, answer, answer_aliases, paragraphs. Questions marked as not
// answerable are left out, as LongBench leaves them out.
std::vector<Sample> load_musique(const std::filesystem::path& path);

// QMSum's JSON lines, a meeting each: a sample for each general and each specific query. The
// transcript is one document, equal for all queries of a meeting, a line for each turn.
std::vector<Sample> load_qmsum(const std::filesystem::path& path);

}  // namespace reprise::workloads::longbench
