// Reads post-processors as templates of ids, and applies the templates.
#include "core/tokenizer/post_processor.h"

#include <algorithm>

namespace reprise::tokenizer {
namespace {

// Upper bound on the parts of a template: the ids of its special tokens, and its sequences.
constexpr size_t kMaxTemplate = 64;

int32_t read_id(const JsonPlace& place) {
  if (!place.value.is_int64() || place.value.integer() < 0 || place.value.integer() > INT32_MAX)
    place.fail("must be a token id");
  return static_cast<int32_t>(place.value.integer());
}

// Reads the ids of one special token: {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}.
std::vector<int32_t> read_special(const JsonPlace& special_tokens, const std::string& name) {
  const JsonPlace ids = special_tokens.child(name).child("ids");
  std::vector<int32_t> result;
  for (size_t i = 0; i < ids.list_size(); ++i) result.push_back(read_id(ids.item(i)));
  return result;
}

std::vector<int32_t> read_parts(const JsonPlace& parts, const JsonPlace& special_tokens,
                                bool is_pair) {
  std::vector<int32_t> result;
  for (size_t i = 0; i < parts.list_size(); ++i) {
    const JsonPlace part = parts.item(i);
    if (part.value.is_fields() && part.value.contains("SpecialToken")) {
      const std::string name = part.child("SpecialToken").child("id").string();
      const auto ids = read_special(special_tokens, name);
      result.insert(result.end(), ids.begin(), ids.end());
    } else {
      const std::string name = part.child("Sequence").child("id").string();
      if (name != "A" && !(is_pair && name == "B"))
        part.fail(is_pair ? "must name sequence A or B" : "must name sequence A");
      result.push_back(PostProcessor::kText);
    }
    if (result.size() > kMaxTemplate) parts.fail("has too many parts");
  }
  if (std::count(result.begin(), result.end(), PostProcessor::kText) != (is_pair ? 2 : 1))
    parts.fail("must contain each sequence once");
  return result;
}

}  // namespace

PostProcessor::PostProcessor(const JsonPlace& place) { read(place); }

void PostProcessor::read(const JsonPlace& place) {
  const std::string type = place.type(
      {"TemplateProcessing", "ByteLevel", "BertProcessing", "RobertaProcessing", "Sequence"});
  JsonObject object = place.object();
  object.allow({"type"});
  if (type == "TemplateProcessing") {
    read_template(place, object);
  } else if (type == "ByteLevel") {
    // These matter only for offsets, which are not kept.
    object.allow({"add_prefix_space", "trim_offsets", "use_regex"});
  } else if (type == "Sequence") {
    object.allow({"processors"});
    const JsonPlace list = place.child("processors");
    for (size_t i = 0; i < list.list_size(); ++i) read(list.item(i));
  } else {
    if (type == "RobertaProcessing") object.allow({"add_prefix_space", "trim_offsets"});
    read_bert(place, object);
  }
  object.reject_unknown();
}

void PostProcessor::read_template(const JsonPlace& place, JsonObject& object) {
  object.allow({"single", "pair", "special_tokens"});
  const JsonPlace special_tokens = place.child("special_tokens");
  templates_.push_back(read_parts(place.child("single"), special_tokens, false));
  if (object.has("pair")) (void)read_parts(place.child("pair"), special_tokens, true);
}

void PostProcessor::read_bert(const JsonPlace& place, JsonObject& object) {
  object.allow({"sep", "cls"});
  const auto id_of = [&](const char* key) {
    const JsonPlace pair = place.child(key);
    if (pair.list_size() != 2) pair.fail("must be [token, id]");
    return read_id(pair.item(1));
  };
  templates_.push_back({id_of("cls"), kText, id_of("sep")});
}

std::vector<int32_t> PostProcessor::apply(std::vector<int32_t> ids, bool add_special) const {
  if (!add_special) return ids;
  for (const auto& parts : templates_) {
    std::vector<int32_t> wrapped;
    wrapped.reserve(ids.size() + parts.size());
    for (const int32_t part : parts) {
      if (part == kText) {
        wrapped.insert(wrapped.end(), ids.begin(), ids.end());
      } else {
        wrapped.push_back(part);
      }
    }
    ids = std::move(wrapped);
  }
  return ids;
}

void PostProcessor::set_first(std::optional<int32_t> id) {
  for (auto& parts : templates_)
    parts.erase(parts.begin(), std::find(parts.begin(), parts.end(), kText));
  if (id) templates_.push_back({*id, kText});
}

void PostProcessor::set_last(std::optional<int32_t> id) {
  for (auto& parts : templates_)
    parts.erase(std::find(parts.begin(), parts.end(), kText) + 1, parts.end());
  if (id) templates_.push_back({kText, *id});
}

}  // namespace reprise::tokenizer
