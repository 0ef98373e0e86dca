#include "workloads/questions/mmlu.h"

#include <algorithm>

#include "core/base/error.h"
#include "workloads/questions/csv.h"
#include "workloads/questions/mmlu_files.h"
#include "workloads/questions/mmlu_template.h"

namespace reprise::workloads::questions {
namespace {

namespace fs = std::filesystem;

bool is_heading(const CsvRow& row) {
  return row.fields ==
         std::vector<std::string>{"question", "choice0", "choice1", "choice2", "choice3", "answer"};
}

MmluRow read_row(const CsvRow& row, char first_answer, const std::string& file) {
  if (row.fields.size() != kMmluChoices + 2)
    raise("{}:{}: {} fields; a row has a question, four choices and the answer", file, row.line,
          row.fields.size());
  MmluRow out{.question = row.fields[0]};
  std::copy_n(row.fields.begin() + 1, kMmluChoices, out.choices.begin());
  const std::string& answer = row.fields.back();
  out.answer = kMmluChoices;
  if (answer.size() == 1)
    out.answer = static_cast<size_t>(answer[0]) - static_cast<size_t>(first_answer);
  if (out.answer >= kMmluChoices)
    raise("{}:{}: the answer is \"{}\"; expected {} to {}", file, row.line, answer, first_answer,
          static_cast<char>(first_answer + 3));
  return out;
}

std::vector<MmluRow> read_rows(const fs::path& path) {
  const std::vector<CsvRow> rows = read_csv(path);
  const bool has_heading = is_heading(rows.front());
  std::vector<MmluRow> questions;
  for (size_t i = has_heading ? 1 : 0; i < rows.size(); ++i)
    questions.push_back(read_row(rows[i], has_heading ? '0' : 'A', path.string()));
  if (questions.empty()) raise("{} holds a heading and no question", path.string());
  return questions;
}

std::vector<MmluRow> read_examples(const fs::path& path, int64_t shots) {
  if (shots == 0) return {};
  std::vector<MmluRow> rows = read_rows(path);
  if (std::ssize(rows) < shots)
    raise("{} has {} examples, and {} are asked for; ask for fewer", path.string(), rows.size(),
          shots);
  rows.resize(static_cast<size_t>(shots));
  return rows;
}

}  // namespace

std::vector<Item> load_mmlu(const fs::path& file, const MmluOptions& options) {
  REPRISE_CHECK(options.shots >= 0, "shots {}", options.shots);
  if (options.split == "dev" && options.shots > 0)
    raise("{}: the questions of split dev are the worked examples, and shots is {}: set shots to 0",
          file.string(), options.shots);
  const MmluTemplate& wording = mmlu_template(options.question_template);
  const std::string subject = mmlu_subject_of(file, options.split);
  Item common{.task = subject,
              .preamble = wording.preamble_of(subject),
              .lead = std::string(wording.lead),
              .judgement = wording.judgement,
              .most_answer_tokens = wording.most_answer_tokens};
  for (const MmluRow& row : read_examples(mmlu_examples_of(file, subject), options.shots))
    common.documents.push_back(wording.example_of(subject, row));
  for (size_t choice = 0; choice < kMmluChoices; ++choice)
    common.choices.push_back(mmlu_letter(choice));
  std::vector<Item> items;
  for (const MmluRow& row : read_rows(file)) {
    Item item = common;
    item.id = fmt::format("{}-{}", subject, items.size() + 1);
    item.question = wording.question_of(subject, row);
    item.answers = {mmlu_letter(row.answer)};
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace reprise::workloads::questions
