#include "workloads/questions/mmlu.h"

#include <algorithm>

#include "core/base/error.h"
#include "workloads/questions/csv.h"
#include "workloads/questions/mmlu_groups.h"

namespace reprise::workloads::questions {
namespace {

namespace fs = std::filesystem;

constexpr size_t kChoices = 4;

struct Question {
  std::string text;  // question and choices, up to "Answer:"
  size_t answer = 0;
};

std::string letter(size_t choice) { return {static_cast<char>('A' + choice)}; }

bool is_heading(const CsvRow& row) {
  return row.fields ==
         std::vector<std::string>{"question", "choice0", "choice1", "choice2", "choice3", "answer"};
}

Question read_question(const CsvRow& row, char first_answer, const std::string& file) {
  if (row.fields.size() != kChoices + 2)
    raise("{}:{}: {} fields; a row has a question, four choices and the answer", file, row.line,
          row.fields.size());
  Question out{.text = row.fields[0]};
  for (size_t choice = 0; choice < kChoices; ++choice)
    out.text += fmt::format("\n{}. {}", letter(choice), row.fields[choice + 1]);
  out.text += "\nAnswer:";
  const std::string& answer = row.fields.back();
  out.answer = kChoices;
  if (answer.size() == 1)
    out.answer = static_cast<size_t>(answer[0]) - static_cast<size_t>(first_answer);
  if (out.answer >= kChoices)
    raise("{}:{}: the answer is \"{}\"; expected {} to {}", file, row.line, answer, first_answer,
          static_cast<char>(first_answer + 3));
  return out;
}

std::vector<Question> read_questions(const fs::path& path) {
  const std::vector<CsvRow> rows = read_csv(path);
  const bool has_heading = is_heading(rows.front());
  std::vector<Question> questions;
  for (size_t i = has_heading ? 1 : 0; i < rows.size(); ++i)
    questions.push_back(read_question(rows[i], has_heading ? '0' : 'A', path.string()));
  if (questions.empty()) raise("{} holds a heading and no question", path.string());
  return questions;
}

fs::path examples_of(const fs::path& test, const std::string& subject) {
  const std::string name = subject + "_dev.csv";
  const fs::path folder = test.parent_path();
  if (folder.filename() == "test") return folder.parent_path() / "dev" / name;
  return folder / name;
}

// The official program puts a space before each word of the subject, so that two follow "about".
std::string preamble_of(const std::string& subject) {
  std::string words = subject;
  std::replace(words.begin(), words.end(), '_', ' ');
  return fmt::format("The following are multiple choice questions (with answers) about  {}.\n\n",
                     words);
}

std::vector<std::string> read_examples(const fs::path& path, int64_t shots) {
  std::vector<std::string> examples;
  if (shots == 0) return examples;
  for (const Question& example : read_questions(path)) {
    if (std::ssize(examples) == shots) break;
    examples.push_back(fmt::format("{} {}\n\n", example.text, letter(example.answer)));
  }
  if (std::ssize(examples) < shots)
    raise("{} has {} examples, and {} are asked for; ask for fewer", path.string(), examples.size(),
          shots);
  return examples;
}

}  // namespace

std::vector<Item> load_mmlu(const fs::path& test, int64_t shots) {
  REPRISE_CHECK(shots >= 0, "shots {}", shots);
  const std::string subject = mmlu_subject_of(test);
  const std::vector<std::string> examples = read_examples(examples_of(test, subject), shots);
  std::vector<Item> items;
  for (Question& question : read_questions(test)) {
    Item item{.id = fmt::format("{}-{}", subject, items.size() + 1),
              .task = subject,
              .preamble = preamble_of(subject),
              .documents = examples,
              .question = std::move(question.text),
              .answers = {letter(question.answer)},
              .most_answer_tokens = 1};
    for (size_t choice = 0; choice < kChoices; ++choice) item.choices.push_back(letter(choice));
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace reprise::workloads::questions
