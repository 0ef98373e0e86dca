#include "workloads/longbench/prompts.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tokenizer/python_text.h"
#include "workloads/longbench/datasets.h"

namespace reprise::workloads::longbench {
namespace {

namespace fs = std::filesystem;

std::string without_tags(std::string text) {
  std::replace(text.begin(), text.end(), '<', '(');
  std::replace(text.begin(), text.end(), '>', ')');
  return text;
}

std::string first_characters(const std::string& text, size_t most) {
  return python::utf8(std::u32string_view(python::code_points(text)).substr(0, most));
}

// Alternative names of a file, the usual one first.
using Names = std::initializer_list<const char*>;
constexpr Names kOfficialPrompts = {"dataset2prompt.json"};
constexpr Names kOfficialLengths = {"dataset2maxlen.json"};
constexpr Names kAuthorsPrompts = {"dataset_prompt.json", "config__dataset_prompt.json"};
constexpr Names kAuthorsLengths = {"dataset_maxlen.json", "config__dataset_maxlen.json"};

// Returns the first of the names that exists; "" if none does.
fs::path found(const fs::path& folder, Names names) {
  std::error_code error;
  for (const char* name : names)
    if (fs::exists(folder / name, error)) return folder / name;
  return {};
}

fs::path existing(const fs::path& folder, Names names) {
  if (fs::path file = found(folder, names); !file.empty()) return file;
  raise("{} has no {}; name the folder with LongBench's configuration", folder.string(),
        *names.begin());
}

struct ConfigFiles {
  fs::path prompts, lengths;
};

PromptTemplate official_template(JsonObject& prompts, const std::string& name) {
  const FieldText text(prompts.string(name), prompts.where(name));
  auto [before, question] = text.around_context();
  return {.before = std::move(before),
          .behind = FieldText("", ""),
          .question = std::move(question),
          .cue = ""};
}

PromptTemplate authors_template(JsonObject& prompts, const std::string& name) {
  JsonObject entry = prompts.object(name);
  auto [before, behind] =
      FieldText(entry.string("context"), entry.where("context")).around_context();
  return {.before = std::move(before),
          .behind = std::move(behind),
          .question = FieldText(entry.string("question"), entry.where("question")),
          .cue = entry.string("answer", ""),  // one set has no cue
          .is_as_coded = true};
}

template <typename Read>
PromptTemplates load(const ConfigFiles& files, Read&& read, const WantedDatasets& wanted,
                     bool may_have_others) {
  const Value prompts_json = read_json(files.prompts), lengths_json = read_json(files.lengths);
  JsonObject prompts(prompts_json, files.prompts.string());
  JsonObject lengths(lengths_json, files.lengths.string());
  PromptTemplates templates;
  for (const Dataset& dataset : datasets()) {
    const std::string name(dataset.name);
    const bool is_there = prompts.has(name) && lengths.has(name);
    if (!is_there && !wanted.empty() && !wanted.contains(name)) continue;
    PromptTemplate prompt = read(prompts, name);
    constexpr int64_t kMostTokens = 1 << 20;
    prompt.most_answer_tokens = lengths.integer_in(name, 1, kMostTokens);
    templates.emplace(name, std::move(prompt));
  }
  if (!may_have_others) {
    prompts.reject_unknown();
    lengths.reject_unknown();
  }
  return templates;
}

}  // namespace

FieldText::FieldText(std::vector<Piece> pieces, std::string where)
    : pieces_(std::move(pieces)), where_(std::move(where)) {}

FieldText::FieldText(std::string_view text, std::string where) : where_(std::move(where)) {
  std::string literal;
  const auto end_literal = [&] {
    if (!literal.empty()) pieces_.push_back({Kind::kText, literal});
    literal.clear();
  };
  while (!text.empty()) {
    const bool is_doubled = text.starts_with("{{") || text.starts_with("}}");
    if (is_doubled || (text[0] != '{' && text[0] != '}')) {
      literal += text[0];
      text.remove_prefix(is_doubled ? 2 : 1);
      continue;
    }
    const size_t end = text.find('}');
    const std::string_view field = text.substr(0, std::min(end, text.size() - 1) + 1);
    if (field != "{context}" && field != "{input}")
      raise("{}: \"{}\" is neither {{context}} nor {{input}}; a brace itself is written twice",
            where_, field.substr(0, 40));
    end_literal();
    pieces_.push_back({field == "{context}" ? Kind::kContext : Kind::kInput, ""});
    text.remove_prefix(field.size());
  }
  end_literal();
}

std::string FieldText::filled(std::string_view context, std::string_view input) const {
  std::string out;
  for (const Piece& piece : pieces_)
    out += piece.kind == Kind::kText      ? std::string_view(piece.text)
           : piece.kind == Kind::kContext ? context
                                          : input;
  return out;
}

std::pair<FieldText, FieldText> FieldText::around_context() const {
  const auto is_context = [](const Piece& piece) { return piece.kind == Kind::kContext; };
  const auto place = std::find_if(pieces_.begin(), pieces_.end(), is_context);
  if (place == pieces_.end() || std::any_of(place + 1, pieces_.end(), is_context))
    raise("{} must have the field {{context}} exactly once", where_);
  return {FieldText(std::vector<Piece>(pieces_.begin(), place), where_),
          FieldText(std::vector<Piece>(place + 1, pieces_.end()), where_)};
}

PromptTemplates load_official_templates(const fs::path& folder, const WantedDatasets& wanted) {
  return load({existing(folder, kOfficialPrompts), existing(folder, kOfficialLengths)},
              official_template, wanted, /*may_have_others=*/false);
}

PromptTemplates load_authors_templates(const fs::path& folder, const WantedDatasets& wanted) {
  return load({existing(folder, kAuthorsPrompts), existing(folder, kAuthorsLengths)},
              authors_template, wanted, /*may_have_others=*/true);
}

PromptTemplates load_templates(const fs::path& folder, const WantedDatasets& wanted) {
  const fs::path official = found(folder, kOfficialPrompts);
  const fs::path authors = found(folder, kAuthorsPrompts);
  if (!official.empty() && !authors.empty())
    raise(
        "{} holds LongBench's templates ({}) and the Prompt Cache authors' ({}): move one of them",
        folder.string(), official.filename().string(), authors.filename().string());
  if (official.empty() && authors.empty())
    raise(
        "{} has neither {} (LongBench's config) nor {} (the Prompt Cache authors'): name the "
        "folder "
        "that has one of them as the workload's \"templates\", in the file or with "
        "--set workload.templates=FOLDER",
        folder.string(), *kOfficialPrompts.begin(), *kAuthorsPrompts.begin());
  return official.empty() ? load_authors_templates(folder, wanted)
                          : load_official_templates(folder, wanted);
}

std::vector<fs::path> template_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const Names& names : {kOfficialPrompts, kOfficialLengths, kAuthorsPrompts, kAuthorsLengths})
    if (const fs::path file = found(folder, names); !file.empty()) files.push_back(file);
  return files;
}

std::string PromptParts::text() const {
  std::string all = before;
  for (const std::string& document : documents) all += document;
  return all + behind + question;
}

PromptParts fill(const PromptTemplate& prompt, const Sample& sample) {
  constexpr size_t kMostInput = 1000;
  std::string input = sample.input;
  std::vector<std::string> documents = sample.documents;
  if (prompt.is_as_coded) {
    input = first_characters(without_tags(input), kMostInput);
    for (std::string& document : documents) document = without_tags(document);
  }
  return {.before = prompt.before.filled("", input),
          .documents = std::move(documents),
          .behind = prompt.behind.filled("", input),
          .question = prompt.question.filled("", input),
          .cue = prompt.cue};
}

}  // namespace reprise::workloads::longbench
