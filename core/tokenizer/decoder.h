// The decoders of tokenizer.json, as stages of a stream. Tokens go in, and text comes out as soon
// as no later token can change it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/json_place.h"

namespace reprise::tokenizer {

// A stage receives, for each token, its text in one or more fragments of whole characters, then
// end_token(). After the last token it receives finish(). It passes its own list of tokens to
// `next` in the same way.
class DecodeStage {
 public:
  explicit DecodeStage(DecodeStage* next) : next_(next) {}
  virtual ~DecodeStage() = default;
  virtual void text(std::string_view fragment) = 0;
  virtual void end_token() = 0;
  virtual void finish() = 0;

 protected:
  DecodeStage& next() { return *next_; }

 private:
  DecodeStage* next_;  // null only for the last stage
};

// Makes, for each text, the stages of a file's decoder. The default joins tokens by spaces, which
// is the meaning of a file without a decoder.
class Decoder {
 public:
  Decoder();
  // Supports ByteLevel Sequence Replace ByteFallback Fuse Strip Metaspace WordPiece. Throws Error
  // naming a component or option that is not supported.
  explicit Decoder(const JsonPlace& place);

  // The decoding of one text. token() takes a whole token and appends to `out` the text that no
  // later token can change. All appended parts together are the text.
  class Stream {
   public:
    void token(std::string_view text, std::string& out);
    void finish(std::string& out);

   private:
    friend class Decoder;
    class Collector;
    // In reverse order: stages_[0] is the last one, which collects the text.
    std::vector<std::unique_ptr<DecodeStage>> stages_;
  };
  [[nodiscard]] Stream stream() const;

 private:
  using Factory = std::function<std::unique_ptr<DecodeStage>(DecodeStage* next)>;
  void read(const JsonPlace& place);
  std::vector<Factory> factories_;
};

}  // namespace reprise::tokenizer
