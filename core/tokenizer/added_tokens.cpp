// Reads the added tokens and finds them in texts.
#include "core/tokenizer/added_tokens.h"

#include <algorithm>

#include "core/tokenizer/unicode.h"
#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {
namespace {

bool is_word_or_joiner(char32_t code) { return is_word(code) || code == 0x200c || code == 0x200d; }

AddedToken read_listed_token(const JsonPlace& place) {
  JsonObject object = place.object();
  AddedToken token = read_added_token(object);
  token.id = static_cast<int32_t>(object.integer_in("id", 0, (int64_t{1} << 22) - 1));
  object.reject_unknown();
  return token;
}

}  // namespace

AddedToken read_added_token(JsonObject& object, bool is_special) {
  AddedToken token;
  token.content = object.string("content");
  token.is_special = object.boolean("special", is_special);
  token.is_normalized = object.boolean("normalized", !token.is_special);
  token.strips_left = object.boolean("lstrip", false);
  token.strips_right = object.boolean("rstrip", false);
  token.is_single_word = object.boolean("single_word", false);
  return token;
}

void TokenMatcher::add(std::string_view pattern, size_t token) {
  const auto new_node = [&] {
    nodes_.emplace_back();
    return static_cast<int32_t>(nodes_.size()) - 1;
  };
  int32_t& first = root_[static_cast<unsigned char>(pattern[0])];
  if (first < 0) first = new_node();
  int32_t node = first;
  for (const char c : pattern.substr(1)) {
    const auto& next = nodes_[static_cast<size_t>(node)].next;
    const auto found =
        std::find_if(next.begin(), next.end(), [&](const auto& edge) { return edge.first == c; });
    if (found != next.end()) {
      node = found->second;
      continue;
    }
    const int32_t added = new_node();
    nodes_[static_cast<size_t>(node)].next.emplace_back(c, added);
    node = added;
  }
  int64_t& of_node = nodes_[static_cast<size_t>(node)].token;
  if (of_node < 0) of_node = static_cast<int64_t>(token);
}

bool TokenMatcher::find(std::string_view text, size_t from, size_t& begin, size_t& end,
                        size_t& token) const {
  for (size_t start = from; start < text.size(); ++start) {
    int32_t node = root_[static_cast<unsigned char>(text[start])];
    bool is_found = false;
    for (size_t at = start + 1; node >= 0; ++at) {
      const Node& here = nodes_[static_cast<size_t>(node)];
      if (here.token >= 0) {
        is_found = true;
        begin = start;
        end = at;
        token = static_cast<size_t>(here.token);
      }
      if (at >= text.size()) break;
      node = -1;
      for (const auto& [c, next] : here.next)
        if (c == text[at]) node = next;
    }
    if (is_found) return true;
  }
  return false;
}

AddedTokens::AddedTokens(const JsonPlace& place, std::span<const SettingsToken> more,
                         const Vocabulary& vocabulary, const Normalizer* normalizer,
                         std::vector<std::string>& notes)
    : end_id_(0) {
  for (size_t i = 0; i < place.list_size(); ++i) {
    AddedToken token = read_listed_token(place.item(i));
    if (token.content.empty()) continue;
    const int32_t stated_id = token.id;
    const std::string content = token.content;
    add(std::move(token), vocabulary);
    const int32_t id = tokens_[by_content_.at(content)].id;
    if (id != stated_id)
      notes.push_back(
          fmt::format("{}: added token \"{}\" has the id {} by its place, not the {} "
                      "that the file states",
                      place.source, content, id, stated_id));
  }
  for (const SettingsToken& added : more) {
    const std::string& content = added.token.content;
    const bool is_listed = find(content) != nullptr;
    if (is_listed ? added.replaces : vocabulary.find(content).has_value())
      add(added.token, vocabulary);
  }
  // If several tokens have the same normalized text, the first one added here is found. As in
  // Hugging Face's library, special tokens come before others.
  for (const bool special : {true, false})
    for (size_t i = 0; i < tokens_.size(); ++i)
      if (tokens_[i].is_special == special) match(i, place.where(), normalizer);
}

void AddedTokens::match(size_t index, const std::string& where, const Normalizer* normalizer) {
  AddedToken& token = tokens_[index];
  token.decoded = token.content;
  if (!token.is_normalized) {
    raw_.add(token.content, index);
    return;
  }
  NormalizedText text{token.content, true};
  if (normalizer != nullptr) normalizer->apply(text);
  if (text.text.empty())
    raise(
        "{}: the normalizer leaves nothing of the added token \"{}\"; set its \"normalized\" to "
        "false",
        where, token.content);
  normalized_.add(text.text, index);
  token.decoded = std::move(text.text);
}

void AddedTokens::add(AddedToken token, const Vocabulary& vocabulary) {
  const auto known = by_content_.find(token.content);
  // A later entry replaces an earlier one of the same content, but keeps its id.
  if (known != by_content_.end()) {
    token.id = tokens_[known->second].id;
    tokens_[known->second] = std::move(token);
    return;
  }
  token.id = vocabulary.find(token.content).value_or(std::max(end_id_, vocabulary.size()));
  end_id_ = std::max(end_id_, token.id + 1);
  by_content_[token.content] = tokens_.size();
  by_id_[token.id] = tokens_.size();
  tokens_.push_back(std::move(token));
}

void AddedTokens::split(std::string_view text, bool raw, std::vector<TextPart>& parts) const {
  const TokenMatcher& matcher = raw ? raw_ : normalized_;
  size_t covered = 0;  // all text before this is in `parts`
  size_t begin = 0;
  size_t end = 0;
  size_t index = 0;
  for (size_t from = 0; !matcher.empty() && matcher.find(text, from, begin, end, index);) {
    from = end;
    const AddedToken& token = tokens_[index];
    if (token.is_single_word) {
      const bool joins_left = begin > 0 && is_word_or_joiner(utf8_before(text, begin).code);
      const bool joins_right = end < text.size() && is_word_or_joiner(utf8_at(text, end).code);
      if (joins_left || joins_right) continue;
    }
    while (token.strips_left && begin > covered) {
      const Utf8Char c = utf8_before(text, begin);
      if (!is_whitespace(c.code)) break;
      begin -= c.bytes;
    }
    while (token.strips_right && end < text.size()) {
      const Utf8Char c = utf8_at(text, end);
      if (!is_whitespace(c.code)) break;
      end += c.bytes;
    }
    if (token.strips_left) begin = std::max(begin, covered);
    if (begin >= end) continue;  // the previous token took all of this match as white space
    if (covered < begin) parts.push_back({covered, begin, -1});
    parts.push_back({begin, end, token.id});
    covered = end;
  }
  if (covered < text.size()) parts.push_back({covered, text.size(), -1});
}

const AddedToken* AddedTokens::find(int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

}  // namespace reprise::tokenizer
