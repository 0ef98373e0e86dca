// Converts text to token ids and back, for every kind of tokenizer file in the supported
// checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

struct EncodeOptions {
  // Adds the tokens that the file's post-processor puts around a text, such as <s> or [CLS] ..
  // [SEP]; for tokenizer.model, those of the Llama convention. This option does not change how
  // special tokens that are written in the text are read: a tokenizer.json recognizes them, a
  // tokenizer.model does not.
  bool add_special = true;
  // True: the text follows a special token, as in a chat. A tokenizer.model whose settings say
  // "legacy": false then puts no space mark before it.
  bool follows_special = false;
};

struct DecodeOptions {
  bool skip_special = true;  // leave special tokens such as </s> out of the text
};

// Decodes ids one by one as they are generated. Each push returns the text that no later id can
// change, in whole UTF-8 characters. All returned parts together equal decode() of the list of ids.
class StreamDecoder {
 public:
  virtual ~StreamDecoder() = default;
  std::string push(int32_t id) {
    std::string out;
    push(id, out);
    return out;
  }
  std::string flush() {
    std::string out;
    flush(out);
    return out;
  }
  // Appends the text to `out` instead of returning it.
  virtual void push(int32_t id, std::string& out) = 0;
  // Ends the text. Bytes of an unfinished character become U+FFFD. push() must not be called
  // afterwards.
  virtual void flush(std::string& out) = 0;
};

// Thread-safe: several threads may encode, decode and stream at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Throws Error with the byte offset if `text` is not valid UTF-8. Invalid bytes are not silently
  // replaced, since then the measured prompt would not be the user's.
  [[nodiscard]] virtual std::vector<int32_t> encode(std::string_view text,
                                                    EncodeOptions options = {}) const = 0;
  // An id without a token decodes to nothing, since a model's output layer may be padded beyond the
  // vocabulary.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids, DecodeOptions options = {}) const;
  // The stream must not outlive the tokenizer.
  [[nodiscard]] virtual std::unique_ptr<StreamDecoder> stream(DecodeOptions options = {}) const = 0;

  // Returns the token as spelt in the vocabulary ("\u0120the", "\u2581the"), or "" for an unknown
  // id.
  [[nodiscard]] virtual std::string token_text(int32_t id) const = 0;
  [[nodiscard]] virtual std::optional<int32_t> token_id(std::string_view text) const = 0;
  // All ids are in [0, vocab_size()).
  [[nodiscard]] virtual int32_t vocab_size() const = 0;
  [[nodiscard]] std::optional<int32_t> bos_id() const { return bos_id_; }
  [[nodiscard]] std::optional<int32_t> eos_id() const { return eos_id_; }
  // True if a text that is too long is to keep its last tokens, not its first. From truncation_side
  // of tokenizer_config.json, or else from tokenizer.json. encode() itself cuts nothing.
  [[nodiscard]] bool truncates_left() const { return truncates_left_; }
  // Remarks for the user on how the file was read, one sentence each. Usually there are none.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 protected:
  std::optional<int32_t> bos_id_;
  std::optional<int32_t> eos_id_;
  bool truncates_left_ = false;
  std::vector<std::string> notes_;
};

// `path` is a tokenizer file or a checkpoint's folder. In a folder, the first of these is used:
// tokenizer.json, tokenizer.model, DeBERTa's spm.model, the files of older_files.h. The settings in
// the same folder (tokenizer_config.h) name special tokens. They also replace options of the
// tokenizer file, the same ones as the tokenizer's class in transformers replaces. Throws Error
// naming the file, the key and what is not supported, such as a token that the settings add and the
// tokenizer file lacks.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

}  // namespace reprise
