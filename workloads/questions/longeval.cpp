#include "workloads/questions/longeval.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "workloads/json_lines.h"

namespace reprise::workloads::questions {
namespace {

constexpr std::string_view kLine = "line ";
constexpr std::string_view kNumber = ": REGISTER_CONTENT is <";
constexpr std::string_view kTopic = "USER: I would like to discuss the topic of ";
constexpr std::string_view kTopicsEnd = "Now the record ends.";

// Returns the end of the line that starts at `begin`, including its line feed.
size_t line_end(const std::string& text, size_t begin) {
  const size_t feed = text.find('\n', begin);
  return feed == std::string::npos ? text.size() : feed + 1;
}

// Name and number in a line "line NAME: REGISTER_CONTENT is <NUMBER>", which ends with a line
// feed.
struct NumberedLine {
  std::string name, number;
};
std::optional<NumberedLine> read_line(std::string_view line) {
  const size_t middle = line.find(kNumber);
  if (!line.starts_with(kLine) || middle == std::string_view::npos || !line.ends_with(">\n"))
    return std::nullopt;
  const size_t first = middle + kNumber.size();
  const std::string_view number = line.substr(first, line.size() - 2 - first);
  if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return NumberedLine{std::string(line.substr(kLine.size(), middle - kLine.size())),
                      std::string(number)};
}

// Cuts `prompt` into the text before the lines, the lines, and the question. Blank lines after the
// last line belong to it.
void cut_lines(const std::string& prompt, int64_t num_lines, const std::string& where, Item& item) {
  const size_t blank = prompt.find("\n\nline ");
  if (blank == std::string::npos)
    raise("{} has no lines: \"line \" behind a blank line begins them", where);
  size_t at = blank + 2;
  item.preamble = prompt.substr(0, at);
  for (int64_t i = 0; i < num_lines; ++i) {
    const size_t end = line_end(prompt, at);
    std::string line = prompt.substr(at, end - at);
    if (!read_line(line))
      raise("{}: of {} lines the {}. is {}; expected \"line NAME: REGISTER_CONTENT is <NUMBER>\"",
            where, num_lines, i + 1, json_text(line));
    item.documents.push_back(std::move(line));
    at = end;
  }
  while (at < prompt.size() && prompt[at] == '\n') {
    item.documents.back() += '\n';
    ++at;
  }
  item.question = prompt.substr(at);
  if (read_line(prompt.substr(at, line_end(prompt, at) - at)))
    raise("{} has more lines than num_lines, {}", where, num_lines);
  if (item.question.empty()) raise("{} ends with its lines and asks nothing", where);
}

Item read_lines_case(JsonObject& line) {
  Item item{.task = "lines", .judgement = Judgement::kLastNumber, .most_answer_tokens = 100};
  const std::string expected = std::to_string(line.integer_in("expected_number", 0, INT64_MAX));
  const int64_t num_lines = line.integer_in("num_lines", 1, 1'000'000);
  const std::string correct = line.string("correct_line");
  cut_lines(line.string("prompt"), num_lines, line.where("prompt"), item);
  const Value& place = line.at("random_idx");
  const std::optional<uint64_t> number =
      place.is_list() && place.size() == 2 ? place.list()[1].whole() : std::nullopt;
  if (!number || *number >= static_cast<uint64_t>(num_lines))
    raise("{} must be [name, place] with a place from 0 to {}, found {}", line.where("random_idx"),
          num_lines - 1, json_text(place));
  const std::string& found = item.documents[*number];
  if (found.substr(0, line_end(found, 0)) != correct)
    raise("{} is {}, and line {} of the prompt is {}", line.where("correct_line"),
          json_text(correct), *number + 1, json_text(found));
  if (read_line(correct)->number != expected)
    raise("{} is {}, which the line {} does not say", line.where("expected_number"), expected,
          json_text(correct));
  item.answers = {expected};
  return item;
}

void cut_topics(const std::string& prompt, const std::string& where, Item& item) {
  size_t at = prompt.find(kTopic);
  const size_t end = prompt.rfind(kTopicsEnd);
  if (at == std::string::npos || end == std::string::npos || end < at)
    raise("{} has no conversations: \"{}\" begins one, and \"{}\" ends them", where, kTopic,
          kTopicsEnd);
  item.preamble = prompt.substr(0, at);
  while (at < end) {
    const size_t next = std::min(prompt.find(kTopic, at + 1), end);
    item.documents.push_back(prompt.substr(at, next - at));
    at = next;
  }
  item.question = prompt.substr(end);
}

Item read_topics_case(JsonObject& line) {
  Item item{.task = "topics", .judgement = Judgement::kContains, .most_answer_tokens = 50};
  line.allow({"test_id"});
  const std::vector<std::string> topics = answers_of(line, "topics");
  cut_topics(line.string("prompt"), line.where("prompt"), item);
  if (item.documents.size() != topics.size())
    raise("{} lists {} topics, and the prompt has {} conversations", line.where("topics"),
          topics.size(), item.documents.size());
  for (size_t i = 0; i < topics.size(); ++i) {
    const Item named{.answers = {"topic of " + topics[i]}, .judgement = Judgement::kContains};
    const std::string& document = item.documents[i];
    if (!is_right(named, document.substr(0, line_end(document, 0))))
      raise("{}: conversation {} is not about {}", line.where("prompt"), i + 1,
            json_text(topics[i]));
  }
  item.answers = {topics.front()};
  return item;
}

}  // namespace

std::vector<Item> load_longeval(const std::filesystem::path& path) {
  std::vector<Item> items;
  for_each_line(path, [&](JsonObject& line) {
    line.allow({"prompt_length", "token_size"});  // not used: -1, or counts by an unknown tokenizer
    items.push_back(line.has("topics") ? read_topics_case(line) : read_lines_case(line));
    items.back().id = fmt::format("{}-{}", items.back().task, items.size());
  });
  return items;
}

}  // namespace reprise::workloads::questions
