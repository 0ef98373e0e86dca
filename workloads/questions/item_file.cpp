#include "workloads/questions/item_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/base/error.h"
#include "workloads/json_lines.h"

namespace reprise::workloads::questions {
namespace {

constexpr std::array<std::string_view, 4> kTasks = {"single_hop", "two_hop", "passage_retrieval",
                                                    "choice"};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool begins_blank(const std::string& text) { return !text.empty() && is_blank(text.front()); }
bool ends_blank(const std::string& text) { return !text.empty() && is_blank(text.back()); }

void check_documents(const Item& item, const std::string& where) {
  if (item.documents.empty()) raise("{} is an empty list; an item asks about documents", where);
  for (size_t i = 0; i < item.documents.size(); ++i) {
    const std::string& document = item.documents[i];
    if (document.empty()) raise("{}: document {} is empty", where, i + 1);
    if (begins_blank(document))
      raise("{}: document {} begins with white space; put it at the end of what comes before",
            where, i + 1);
    if (document.back() != '\n')
      raise("{}: document {} does not end with a line feed; add \\n", where, i + 1);
  }
}

void check_question(const Item& item, const std::string& where) {
  if (item.question.empty()) raise("{} is empty", where);
  if (begins_blank(item.question) || ends_blank(item.question))
    raise(
        "{} has white space at an end; it begins behind the last document's line feed, and the "
        "model writes the space before its answer",
        where);
}

void check_answers(const Item& item, const std::string& where) {
  for (const std::string& answer : item.answers)
    if (answer.empty() || begins_blank(answer) || ends_blank(answer) ||
        answer.find('\n') != std::string::npos)
      raise(
          "{} holds {}, which can never be right: a first line without white space around it is "
          "compared",
          where, json_text(answer));
}

void check_choices(const Item& item, const std::string& where) {
  if (item.task != "choice") {
    if (!item.choices.empty()) raise("{}: task {} has none; write null", where, item.task);
    return;
  }
  const std::set<std::string> different(item.choices.begin(), item.choices.end());
  if (different.size() < 2 || different.size() != item.choices.size())
    raise("{}: task choice needs at least two choices, all different", where);
  if (!different.contains(item.answers.front()))
    raise("{} lacks the first answer {}", where, json_text(item.answers.front()));
  if (different.contains("")) raise("{} holds an empty choice", where);
}

std::string task_of(JsonObject& line) {
  const std::string task = line.string("task");
  if (std::find(kTasks.begin(), kTasks.end(), task) == kTasks.end())
    raise("{}: {}", line.where("task"),
          unknown_name("task", task, std::vector<std::string>(kTasks.begin(), kTasks.end())));
  return task;
}

Item read_item(JsonObject& line) {
  Item item;
  item.id = line.string("id");
  if (item.id.empty()) raise("{} is empty", line.where("id"));
  item.task = task_of(line);
  item.preamble = line.string("preamble");
  item.documents = texts_of(line, "documents");
  item.question = line.string("question");
  item.answers = answers_of(line, "answers");
  if (line.has("choices")) item.choices = texts_of(line, "choices");
  check_documents(item, line.where("documents"));
  check_question(item, line.where("question"));
  check_answers(item, line.where("answers"));
  check_choices(item, line.where("choices"));
  return item;
}

}  // namespace

std::span<const std::string_view> item_tasks() { return kTasks; }

std::vector<Item> load_items(const std::filesystem::path& path) {
  std::vector<Item> items;
  std::map<std::string, size_t> line_of;
  for_each_line(path, [&](JsonObject& line) {
    Item item = read_item(line);
    const auto [first, is_new] = line_of.try_emplace(item.id, items.size() + 1);
    if (!is_new)
      raise("{}: line {} has the id {} too; ids tell items apart", line.where("id"), first->second,
            json_text(item.id));
    items.push_back(std::move(item));
  });
  return items;
}

}  // namespace reprise::workloads::questions
