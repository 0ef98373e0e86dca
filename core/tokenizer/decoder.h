// The decoders of tokenizer.json as stages of a stream: tokens in, text out as soon as it is
// certain.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/json_place.h"

namespace reprise::tokenizer {

// A stage receives a list of tokens: the text of each in one or more fragments of whole characters,
// then end_token(); and finish() after the last. It hands a list on to `next` the same way.
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
  DecodeStage* next_;  // null for the last stage alone
};

// What a file's decoder does, as a list of stages to make for each text. Default: tokens with a
// space between them, as files without a decoder mean.
class Decoder {
 public:
  Decoder();
  // Supported: ByteLevel Sequence Replace ByteFallback Fuse Strip Metaspace WordPiece. Throws Error
  // naming the component or option that is not.
  explicit Decoder(const JsonPlace& place);

  // One text being decoded. Feed whole tokens with token(); what is certain is appended to the
  // string given, so that all appended parts together are the text.
  class Stream {
   public:
    void token(std::string_view text, std::string& out);
    void finish(std::string& out);

   private:
    friend class Decoder;
    class Collector;
    std::vector<std::unique_ptr<DecodeStage>> stages_;  // last first; stages_[0] collects
  };
  [[nodiscard]] Stream stream() const;

 private:
  using Factory = std::function<std::unique_ptr<DecodeStage>(DecodeStage* next)>;
  void read(const JsonPlace& place);
  std::vector<Factory> factories_;
};

}  // namespace reprise::tokenizer
