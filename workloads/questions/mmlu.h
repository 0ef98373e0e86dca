// MMLU (Hendrycks et al., 2021): questions with four choices, compared by the likelihood of their
// letters after "Answer:". Prompts are the official program's: a sentence that names the subject,
// `shots` worked examples, the question with its choices, "Answer:". Each example is a document, so
// that all questions of a subject use the same modules.
//
// Rows of SUBJECT_test.csv and SUBJECT_dev.csv are question, four choices, answer: A to D without a
// heading, as published, or 0 to 3 below "question,choice0,choice1,choice2,choice3,answer".
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

// Loads the questions of SUBJECT_test.csv, named "SUBJECT-1" and so on. The examples are the first
// `shots` rows of SUBJECT_dev.csv in the same folder, or in "dev" beside a folder "test". Throws
// Error with file and line for other rows, for another file name, and for too few examples.
std::vector<Item> load_mmlu(const std::filesystem::path& test, int64_t shots = 5);

}  // namespace reprise::workloads::questions
