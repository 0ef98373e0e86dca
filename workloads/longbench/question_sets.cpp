#include "workloads/longbench/question_sets.h"

#include <set>

#include "core/base/error.h"
#include "core/tokenizer/python_text.h"
#include "workloads/json_lines.h"

namespace reprise::workloads::longbench {
namespace {

std::string passage(size_t number, const std::string& title, const std::string& text) {
  return fmt::format("Passage {}:\n{}\n{}\n", number, title, text);
}

// Fills in the other fields of a sample whose documents are known.
Sample finished(Sample sample, std::string_view dataset) {
  sample.dataset = dataset;
  sample.language = "en";
  sample.length = static_cast<int64_t>(python::split(python::code_points(sample.context())).size());
  return sample;
}

const Values& filled_list_of(JsonObject& object, const std::string& key) {
  const Values& list = object.list(key);
  if (list.empty()) raise("{} is empty, so that there is nothing to read", object.where(key));
  return list;
}

// The title and the second entry of [title, [sentence, ...]] or [title, sentence number].
struct Titled {
  std::string title;
  const Value& rest;
};

Titled titled(const Value& pair, const std::string& where) {
  if (!pair.is_list() || pair.size() != 2 || !pair.list()[0].is_text())
    raise("{} must hold pairs that begin with a title, found {}", where, shown(pair));
  return {pair.list()[0].text(), pair.list()[1]};
}

std::string joined_sentences(const Value& sentences, const std::string& where) {
  std::string text;
  if (!sentences.is_list()) raise("{} must hold a list of sentences for each title", where);
  for (const Value& sentence : sentences.list()) {
    if (!sentence.is_text()) raise("{} holds a sentence that is no text", where);
    text += sentence.text();
  }
  return text;
}

Sample hotpotqa_sample(JsonObject& entry) {
  Sample sample;
  sample.id = entry.string("_id");
  sample.input = entry.string("question");
  sample.answers = {entry.string("answer")};
  std::set<std::string> supporting;
  for (const Value& fact : entry.list("supporting_facts"))
    supporting.insert(titled(fact, entry.where("supporting_facts")).title);
  for (const Value& pair : filled_list_of(entry, "context")) {
    const std::string where = entry.where("context");
    const Titled document = titled(pair, where);
    if (supporting.contains(document.title)) sample.supporting.push_back(sample.documents.size());
    sample.documents.push_back(passage(sample.documents.size() + 1, document.title,
                                       joined_sentences(document.rest, where)));
  }
  entry.allow({"type", "level"});
  return finished(std::move(sample), "hotpotqa");
}

Sample musique_sample(JsonObject& entry) {
  Sample sample;
  sample.id = entry.string("id");
  sample.input = entry.string("question");
  sample.answers = {entry.string("answer")};
  for (std::string& alias : texts_of(entry, "answer_aliases"))
    sample.answers.push_back(std::move(alias));
  for (const Value& item : filled_list_of(entry, "paragraphs")) {
    JsonObject paragraph(item, entry.where("paragraphs"));
    if (paragraph.boolean("is_supporting", false))
      sample.supporting.push_back(sample.documents.size());
    sample.documents.push_back(passage(sample.documents.size() + 1, paragraph.string("title"),
                                       paragraph.string("paragraph_text")));
    paragraph.allow({"idx"});
    paragraph.reject_unknown();
  }
  entry.allow({"question_decomposition", "answerable"});
  return finished(std::move(sample), "musique");
}

// Calls `read` with each object of a file that is one JSON list.
template <typename Read>
void for_each_entry(const std::filesystem::path& path, Read&& read) {
  const Value list = read_json(path);
  if (!list.is_list() || list.size() == 0)
    raise("{} must be a JSON list of questions, found {}", path.string(),
          list.is_list() ? "nothing" : json_type(list));
  for (size_t i = 0; i < list.size(); ++i) {
    JsonObject entry(list.list()[i], fmt::format("{}: question {}", path.string(), i + 1));
    read(entry);
    entry.reject_unknown();
  }
}

std::string transcript_of(JsonObject& meeting) {
  std::string text;
  for (const Value& item : filled_list_of(meeting, "meeting_transcripts")) {
    JsonObject turn(item, meeting.where("meeting_transcripts"));
    text += turn.string("speaker") + ": " + turn.string("content") + "\n";
    turn.reject_unknown();
  }
  return text;
}

}  // namespace

std::vector<Sample> load_hotpotqa(const std::filesystem::path& path) {
  std::vector<Sample> samples;
  for_each_entry(path, [&](JsonObject& entry) { samples.push_back(hotpotqa_sample(entry)); });
  return samples;
}

std::vector<Sample> load_musique(const std::filesystem::path& path) {
  std::vector<Sample> samples;
  for_each_entry(path, [&](JsonObject& entry) {
    Sample sample = musique_sample(entry);
    if (entry.boolean("answerable", true)) samples.push_back(std::move(sample));
  });
  return samples;
}

std::vector<Sample> load_qmsum(const std::filesystem::path& path) {
  std::vector<Sample> samples;
  int64_t meeting_number = 0;
  for_each_line(path, [&](JsonObject& meeting) {
    ++meeting_number;
    const std::string transcript = transcript_of(meeting);
    int64_t query_number = 0;
    for (const char* key : {"general_query_list", "specific_query_list"})
      for (const Value& item : meeting.list(key)) {
        JsonObject query(item, meeting.where(key));
        Sample sample;
        sample.id = fmt::format("meeting{}-query{}", meeting_number, ++query_number);
        sample.input = query.string("query");
        sample.answers = {query.string("answer")};
        sample.documents = {transcript};
        query.allow({"relevant_text_span"});
        query.reject_unknown();
        samples.push_back(finished(std::move(sample), "qmsum"));
      }
    meeting.allow({"topic_list"});
  });
  return samples;
}

}  // namespace reprise::workloads::longbench
