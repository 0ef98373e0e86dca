// Text to token ids and back, for every tokenizer file that the supported checkpoints carry.
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
  // Put what the file's post-processor (or, for tokenizer.model, the Llama convention) puts around
  // a text: <s>, [CLS] .. [SEP]. Special tokens written in the text are found either way by a
  // tokenizer.json, and never by a tokenizer.model.
  bool add_special = true;
};

struct DecodeOptions {
  bool skip_special = true;  // leave special tokens such as </s> out of the text
};

// Decodes ids as they are generated. Each push returns the text that no later id can change: whole
// UTF-8 characters, all of which together are decode() of the list.
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
  // The same, appended to `out`.
  virtual void push(int32_t id, std::string& out) = 0;
  // Ends the text; bytes of an unfinished character become U+FFFD. Nothing may be pushed after it.
  virtual void flush(std::string& out) = 0;
};

// Thread-safe: encode, decode and streams may run side by side.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Throws Error with the byte offset if `text` is not valid UTF-8: replacing the bytes silently
  // would measure another prompt than the user's.
  [[nodiscard]] virtual std::vector<int32_t> encode(std::string_view text,
                                                    EncodeOptions options = {}) const = 0;
  // An id that no token has decodes to nothing: models have padded output layers.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids, DecodeOptions options = {}) const;
  // Must not outlive the tokenizer.
  [[nodiscard]] virtual std::unique_ptr<StreamDecoder> stream(DecodeOptions options = {}) const = 0;

  // The token as the vocabulary writes it ("\u0120the", "\u2581the"); "" where there is none.
  [[nodiscard]] virtual std::string token_text(int32_t id) const = 0;
  [[nodiscard]] virtual std::optional<int32_t> token_id(std::string_view text) const = 0;
  // All ids are in [0, vocab_size()).
  [[nodiscard]] virtual int32_t vocab_size() const = 0;
  [[nodiscard]] std::optional<int32_t> bos_id() const { return bos_id_; }
  [[nodiscard]] std::optional<int32_t> eos_id() const { return eos_id_; }
  // What a user should know about how the file was read, one sentence each; usually none.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 protected:
  std::optional<int32_t> bos_id_;
  std::optional<int32_t> eos_id_;
  std::vector<std::string> notes_;
};

// `path` is a checkpoint's folder (tokenizer.json if it is there, else tokenizer.model, spm.model
// of DeBERTa, or what older_files.h reads) or one such file. A tokenizer_config.json beside the
// file tells the bos and eos tokens, and for the Llama family add_bos_token and add_eos_token.
// Throws Error naming file, key and what is not supported.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

}  // namespace reprise
