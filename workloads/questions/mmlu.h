// MMLU (Hendrycks et al., 2021): questions with four choices, told apart by the likelihood of their
// letters behind "Answer:".
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

// The questions of a subject's file, each in the official program's prompt: a sentence that names
// the subject, `shots` worked examples, the question with its choices, "Answer:". Each example is a
// document, so that the same modules serve all questions of a subject.
//
// A file's rows are question, four choices and the answer: A to D without a heading, as published,
// or 0 to 3 below the heading "question,choice0,choice1,choice2,choice3,answer". `test` is named
// SUBJECT_test.csv. The first `shots` rows of SUBJECT_dev.csv are the examples, in the same folder
// or in "dev" beside a folder "test". Items are named "SUBJECT-1" and so on by their rows.
// Throws Error with file and line for a row that is none of these, for a name that names no
// subject, and for fewer examples than `shots`.
std::vector<Item> load_mmlu(const std::filesystem::path& test, int64_t shots = 5);

}  // namespace reprise::workloads::questions
