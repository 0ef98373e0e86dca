// Helpers for the tokenizer tests: small tokenizer.json texts, random texts, the data folder, error
// texts.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/json_tokenizer.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/utf8.h"
#include "tests/support/data.h"
#include "tests/support/json.h"

namespace reprise::tokenizer {

inline std::filesystem::path data_folder() { return reprise::testing::data_dir("tokenizers"); }

#define REPRISE_NEED_DATA() \
  if (data_folder().empty()) GTEST_SKIP() << "REPRISE_DATA names no real tokenizers"

// The message of the Error that `action` throws; fails the test if it throws none.
template <typename Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected an Error";
  return "";
}

// A folder with a tokenizer's files.
class TokenizerFolder : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text) const {
    return load_tokenizer(folder_)->encode(text);
  }
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / fmt::format("reprise_tokenizer_{}", ::getpid());
};

inline std::string byte_token(int byte) { return fmt::format("<0x{:02X}>", byte); }

// A Llama-2-like file: byte fallback, a few merges, <s> by template.
inline Json llama_json() {
  Json vocab = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  for (int byte = 0; byte < 256; ++byte) vocab[byte_token(byte)] = 3 + byte;
  int id = 259;
  for (const char* token : {"\u2581", "a", "b", "c", "\u2581a", "ab", "\u2581ab", "bc", "abc"})
    vocab[token] = id++;
  return Json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 0, "content": "<unk>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 1, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 2, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true}],
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Prepend", "prepend": "\u2581"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
    "pre_tokenizer": null,
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
    "decoder": {"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
      {"type": "ByteFallback"}, {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>",
      "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": true,
      "byte_fallback": true,
      "merges": ["\u2581 a", "a b", "\u2581a b", "b c", "a bc"]}})")
      .patch(Json::array({{{"op", "add"}, {"path", "/model/vocab"}, {"value", vocab}}}));
}

// A GPT-2-like file: the 256 bytes, a few merges, <|end|>.
inline Json byte_level_json() {
  Json vocab = Json::object();
  std::string text;
  for (int byte = 0; byte < 256; ++byte) {
    text.clear();
    append_byte_level(text, static_cast<unsigned char>(byte));
    vocab[text] = byte;
  }
  vocab["th"] = 256;
  vocab["the"] = 257;
  vocab["\u0120the"] = 258;
  return {{"version", "1.0"},
          {"added_tokens",
           {{{"id", 259}, {"content", "<|end|>"}, {"special", true}, {"normalized", false}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", vocab},
            {"merges", Json::array({"t h", "th e", "\u0120 the"})}}}};
}

// A BERT-like file.
inline Json bert_json() {
  return Json::parse(R"({
    "version": "1.0",
    "added_tokens": [{"id": 2, "content": "[CLS]", "special": true, "normalized": false},
                     {"id": 3, "content": "[SEP]", "special": true, "normalized": false}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                   "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
      "max_input_chars_per_word": 20,
      "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "un": 4, "##aff": 5, "##able": 6,
                "caf": 7, "##e": 8, ",": 9, ".": 10, "\u4e16": 11, "\u754c": 12, "the": 13}}})");
}

inline JsonTokenizer make_tokenizer(const Json& json) { return JsonTokenizer(json, "test.json"); }

// Text of characters that tokenizers disagree about: spaces, marks, emoji, controls, any plane.
inline std::string random_text(std::mt19937_64& random, size_t max_parts) {
  static const std::vector<std::string> kParts = {
      " ",      "  ",      "\n",     "\t",           "\r\n",       "\u00a0",
      "\u3000", "the",     "abc",    " ab",          "'s",         "1234",
      "\u00e9", "e\u0301", "\u4e16", "\u0939\u093f", "\U0001f600", "\U0001f469\u200d\U0001f467",
      "...",    "!?",      "\u2581", "\x01",         "\u200b",     "Hello"};
  std::string text;
  for (size_t parts = random() % (max_parts + 1); parts > 0; --parts) {
    if (random() % 4 != 0) {
      text += kParts[random() % kParts.size()];
      continue;
    }
    const char32_t limit = random() % 2 == 0 ? 0x800 : 0x110000;
    const auto code = static_cast<char32_t>(random() % limit);
    append_utf8(text, code >= 0xd800 && code < 0xe000 ? U'x' : code);
  }
  return text;
}

// Decodes id by id, checking that every part is whole UTF-8.
inline std::string decode_streaming(const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
                                    DecodeOptions options = {}) {
  const auto decoder = tokenizer.stream(options);
  std::string text;
  for (const int32_t id : ids) {
    const std::string part = decoder->push(id);
    EXPECT_NO_THROW(require_utf8(part, "part"));
    text += part;
  }
  return text + decoder->flush();
}

}  // namespace reprise::tokenizer
