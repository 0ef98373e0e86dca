// MMLU (Hendrycks et al., 2021): questions with four choices, after worked examples.
// mmlu_template.h has the wordings. Each example is a document, so that all questions of a subject
// use the same modules.
//
// Rows of SUBJECT_SPLIT.csv are question, four choices, answer: A to D without a heading, as
// published, or 0 to 3 below "question,choice0,choice1,choice2,choice3,answer".
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

inline constexpr std::string_view kMmluSplitHelp =
    "of mmlu: whose questions are asked; the worked examples are of dev";
inline constexpr std::string_view kMmluTemplateHelp =
    "of mmlu: how a question is worded; by its authors, or by RelayAttention's with an instruction "
    "before each question";

struct MmluOptions {
  int64_t shots = 5;           // worked examples, the first rows of SUBJECT_dev.csv
  std::string split = "test";  // split that is asked: one of mmlu_splits()
  std::string question_template = "hendrycks";  // one of mmlu_template_names()
};

// Loads the questions of one file, named "SUBJECT-1" and so on. Throws Error with file and line for
// rows of another form. Also throws Error for a file whose name has another split or form, for
// fewer examples than `shots`, for an unknown option value, and for shots > 0 with split "dev",
// whose rows are the examples themselves.
std::vector<Item> load_mmlu(const std::filesystem::path& file, const MmluOptions& options = {});

}  // namespace reprise::workloads::questions
