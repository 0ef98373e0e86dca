#include "workloads/questions/mmlu_template.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::workloads::questions {
namespace {

// The official program puts a space before each word of the subject, so two spaces follow "about".
constexpr MmluTemplate kTemplates[] = {
    {.name = "hendrycks",
     .preamble = "The following are multiple choice questions (with answers) about  {subject}.\n\n",
     .question = "{question}\nA. {a}\nB. {b}\nC. {c}\nD. {d}\nAnswer:",
     .lead = " ",
     .has_plain_breaks = false,
     .judgement = Judgement::kFirstLine,
     .most_answer_tokens = 1},
    {.name = "vllm_ra",
     .preamble = "",
     .question = "There is a single choice question about {subject}. Answer the question by "
                 "replying A, B, C or D.\nQuestion: {question}\nA. {a}\nB. {b}\nC. {c}\nD. {d}\n"
                 "Answer: ",
     .lead = "\n",
     .has_plain_breaks = true,
     .judgement = Judgement::kFirstCapital,
     .most_answer_tokens = 32}};

// "college_biology" as a prompt writes it: "college biology".
std::string words_of(std::string subject) {
  std::replace(subject.begin(), subject.end(), '_', ' ');
  return subject;
}

std::string with_plain_breaks(std::string text) {
  for (size_t at = 0; (at = text.find('\r', at)) != std::string::npos; ++at) {
    text[at] = '\n';
    if (at + 1 < text.size() && text[at + 1] == '\n') text.erase(at + 1, 1);
  }
  return text;
}

}  // namespace

std::string MmluTemplate::preamble_of(const std::string& subject) const {
  return fmt::format(fmt::runtime(preamble), fmt::arg("subject", words_of(subject)));
}

std::string MmluTemplate::question_of(const std::string& subject, const MmluRow& row) const {
  std::string text = fmt::format(fmt::runtime(question), fmt::arg("subject", words_of(subject)),
                                 fmt::arg("question", row.question), fmt::arg("a", row.choices[0]),
                                 fmt::arg("b", row.choices[1]), fmt::arg("c", row.choices[2]),
                                 fmt::arg("d", row.choices[3]));
  return has_plain_breaks ? with_plain_breaks(std::move(text)) : text;
}

std::string MmluTemplate::example_of(const std::string& subject, const MmluRow& row) const {
  return fmt::format("{}{}{}\n\n", question_of(subject, row), lead, mmlu_letter(row.answer));
}

std::vector<std::string> mmlu_template_names() {
  std::vector<std::string> names;
  for (const MmluTemplate& known : kTemplates) names.emplace_back(known.name);
  return names;
}

const MmluTemplate& mmlu_template(std::string_view name) {
  for (const MmluTemplate& known : kTemplates)
    if (known.name == name) return known;
  raise("{}",
        unknown_name("template of MMLU's questions", std::string(name), mmlu_template_names()));
}

std::string mmlu_letter(size_t choice) { return {static_cast<char>('A' + choice)}; }

}  // namespace reprise::workloads::questions
