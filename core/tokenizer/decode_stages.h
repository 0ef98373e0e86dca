// The stages of which decoders are made. The comment of each class says what the stage does to a
// list of tokens.
#pragma once

#include <memory>
#include <string>

#include "core/tokenizer/decoder.h"
#include "core/tokenizer/pre_tokenizer.h"
#include "core/tokenizer/regex.h"
#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {

// Base of the stages that need whole tokens. It collects the fragments of a token, then calls
// token().
class TokenStage : public DecodeStage {
 public:
  using DecodeStage::DecodeStage;
  void text(std::string_view fragment) final { token_ += fragment; }
  void end_token() final {
    token(token_);
    token_.clear();
  }
  void finish() override { next().finish(); }

 protected:
  virtual void token(std::string& text) = 0;
  void emit(std::string_view text) {
    next().text(text);
    next().end_token();
  }

 private:
  std::string token_;
};

// Puts a space before every token but the first.
class JoinStage final : public DecodeStage {
 public:
  using DecodeStage::DecodeStage;
  void text(std::string_view fragment) override;
  void end_token() override;
  void finish() override { next().finish(); }

 private:
  void open();
  bool is_first_ = true, is_open_ = false;
};

// Joins the bytes of all tokens into one token of text. Ill-formed UTF-8 becomes U+FFFD.
class ByteLevelStage final : public TokenStage {
 public:
  using TokenStage::TokenStage;
  void finish() override;

 protected:
  void token(std::string& text) override;

 private:
  LossyUtf8 characters_;
  std::string bytes_, text_;
};

// Replaces runs of tokens <0xHH> by the text of those bytes, or by one U+FFFD per byte if they are
// not UTF-8.
class ByteFallbackStage final : public TokenStage {
 public:
  using TokenStage::TokenStage;
  void finish() override;

 protected:
  void token(std::string& text) override;

 private:
  void end_run();
  std::string run_;
};

// Joins all tokens into one.
class FuseStage final : public DecodeStage {
 public:
  using DecodeStage::DecodeStage;
  void text(std::string_view fragment) override { next().text(fragment); }
  void end_token() override {}
  void finish() override {
    next().end_token();
    next().finish();
  }
};

// Removes up to `start` copies of a character from the front of each token, and up to `stop` copies
// from its end.
class StripStage final : public DecodeStage {
 public:
  StripStage(DecodeStage* next_stage, std::string character, size_t start, size_t stop)
      : DecodeStage(next_stage), character_(std::move(character)), start_(start), stop_(stop) {}
  void text(std::string_view fragment) override;
  void end_token() override;
  void finish() override { next().finish(); }

 private:
  std::string character_;
  size_t start_, stop_;
  size_t cut_ = 0;  // characters removed so far from the front of this token
  // Number of copies of the character at the end of the token so far, which may have to be removed.
  size_t held_ = 0;
  bool is_front_ = true;
};

// Replaces a fixed text inside each token.
class ReplaceTextStage final : public DecodeStage {
 public:
  ReplaceTextStage(DecodeStage* next_stage, std::string pattern, std::string content)
      : DecodeStage(next_stage), pattern_(std::move(pattern)), content_(std::move(content)) {}
  void text(std::string_view fragment) override;
  void end_token() override;
  void finish() override { next().finish(); }

 private:
  std::string pattern_, content_;
  std::string held_;  // end of the token so far that may be the beginning of the pattern
};

// Replaces the matches of a regular expression inside each token.
class ReplaceRegexStage final : public TokenStage {
 public:
  ReplaceRegexStage(DecodeStage* next_stage, std::shared_ptr<const Regex> regex,
                    std::string content)
      : TokenStage(next_stage), regex_(std::move(regex)), content_(std::move(content)) {}

 protected:
  void token(std::string& text) override;

 private:
  std::shared_ptr<const Regex> regex_;
  std::string content_;
};

// Replaces the space mark by a space. In the first token, drops the mark if encoding added it.
class MetaspaceStage final : public DecodeStage {
 public:
  MetaspaceStage(DecodeStage* next_stage, MetaspaceOptions options)
      : DecodeStage(next_stage), options_(std::move(options)) {}
  void text(std::string_view fragment) override;
  void end_token() override;
  void finish() override { next().finish(); }

 private:
  MetaspaceOptions options_;
  bool is_first_ = true;
};

// Joins "##" pieces to the word before them and puts spaces between words. With `cleanup`, also
// removes the spaces before punctuation and contractions.
class WordPieceStage final : public TokenStage {
 public:
  WordPieceStage(DecodeStage* next_stage, std::string prefix, bool cleanup)
      : TokenStage(next_stage), prefix_(std::move(prefix)), cleanup_(cleanup) {}

 protected:
  void token(std::string& text) override;

 private:
  std::string prefix_;
  bool cleanup_;
  bool is_first_ = true;
};

}  // namespace reprise::tokenizer
