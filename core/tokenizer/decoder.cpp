// Builds the stages of a decoder from tokenizer.json and runs them.
#include "core/tokenizer/decoder.h"

#include "core/tokenizer/decode_stages.h"

namespace reprise::tokenizer {
namespace {

template <typename Stage, typename... Args>
auto factory(Args... args) {
  return [args...](DecodeStage* next) -> std::unique_ptr<DecodeStage> {
    return std::make_unique<Stage>(next, args...);
  };
}

size_t read_count(JsonObject& object, const std::string& key) {
  return static_cast<size_t>(object.integer_in(key, 0, 1 << 20));
}

}  // namespace

// The last stage: appends the finished text to the output string.
class Decoder::Stream::Collector final : public DecodeStage {
 public:
  Collector() : DecodeStage(nullptr) {}
  void text(std::string_view fragment) override { text_ += fragment; }
  void end_token() override {}
  void finish() override {}
  void move_to(std::string& out) {
    out += text_;
    text_.clear();
  }

 private:
  std::string text_;
};

void Decoder::Stream::token(std::string_view text, std::string& out) {
  stages_.back()->text(text);
  stages_.back()->end_token();
  static_cast<Collector&>(*stages_.front()).move_to(out);
}

void Decoder::Stream::finish(std::string& out) {
  stages_.back()->finish();
  static_cast<Collector&>(*stages_.front()).move_to(out);
}

Decoder::Decoder() { factories_.push_back(factory<JoinStage>()); }

Decoder::Decoder(const JsonPlace& place) { read(place); }

Decoder::Stream Decoder::stream() const {
  Stream stream;
  stream.stages_.push_back(std::make_unique<Stream::Collector>());
  for (auto make = factories_.rbegin(); make != factories_.rend(); ++make)
    stream.stages_.push_back((*make)(stream.stages_.back().get()));
  return stream;
}

void Decoder::read(const JsonPlace& place) {
  const std::string type = place.type({"ByteLevel", "Sequence", "Replace", "ByteFallback", "Fuse",
                                       "Strip", "Metaspace", "WordPiece"});
  JsonObject object = place.object();
  object.allow({"type"});
  if (type == "ByteLevel") {
    // These options matter only for encoding.
    object.allow({"add_prefix_space", "trim_offsets", "use_regex"});
    factories_.push_back(factory<ByteLevelStage>());
  } else if (type == "ByteFallback") {
    factories_.push_back(factory<ByteFallbackStage>());
  } else if (type == "Fuse") {
    factories_.push_back(factory<FuseStage>());
  } else if (type == "Metaspace") {
    factories_.push_back(factory<MetaspaceStage>(read_metaspace(place, object)));
  } else if (type == "WordPiece") {
    const std::string prefix = object.string("prefix", "##");
    factories_.push_back(factory<WordPieceStage>(prefix, object.boolean("cleanup", true)));
  } else if (type == "Strip") {
    const std::string content = object.string("content");
    if (utf8_length(content) != 1) place.child("content").fail("must be one character");
    factories_.push_back(
        factory<StripStage>(content, read_count(object, "start"), read_count(object, "stop")));
  } else if (type == "Replace") {
    object.allow({"pattern"});
    const std::string content = object.string("content");
    const JsonPlace pattern = place.child("pattern");
    auto regex = std::make_shared<const Regex>(read_pattern(pattern));
    if (pattern.value.contains("String")) {
      factories_.push_back(factory<ReplaceTextStage>(pattern.child("String").string(), content));
    } else {
      factories_.push_back(factory<ReplaceRegexStage>(regex, content));
    }
  } else {
    object.allow({"decoders"});
    const JsonPlace list = place.child("decoders");
    for (size_t i = 0; i < list.list_size(); ++i) read(list.item(i));
  }
  object.reject_unknown();
}

}  // namespace reprise::tokenizer
