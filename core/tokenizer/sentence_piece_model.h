// Reads and checks a SentencePiece model file before the library sees it, which trusts what it
// loads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::tokenizer {

// What the file says, as far as decoding and checking need it. Numbers are those of the format's
// sentencepiece_model.proto.
struct SentencePieceModel {
  enum PieceType : int64_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  struct Piece {
    std::string text;
    float score = 0;
    int64_t type = kNormal;
  };
  std::vector<Piece> pieces;
  int64_t model_type = 1;  // 1 unigram, 2 BPE, 3 word, 4 character
  bool has_byte_fallback = false;
  bool has_whitespace_suffix = false;
  std::string bos_piece = "<s>", eos_piece = "</s>";
  std::string unknown_surface = " \xE2\x81\x87 ";
  std::string character_map, decode_map;  // double-array tries with their replacement strings
  std::string normalizer_name;
  bool adds_dummy_prefix = true, removes_extra_spaces = true;

  // A Llama-like model (BPE, bytes, identity rules) that would still drop extra spaces: the
  // trainer's default, and not what Llama's runtimes do (llama2.c, llama.cpp, the tokenizer.json
  // made from it).
  [[nodiscard]] bool drops_spaces_by_default() const {
    return model_type == 2 && has_byte_fallback && normalizer_name == "identity" &&
           removes_extra_spaces;
  }
};

// Throws Error naming `source` for bytes that are not such a model, or one that the library would
// crash on: bad wire format, unknown types, pieces that are empty, double or not UTF-8, scores that
// are not finite, missing byte pieces, a character map that points outside itself.
SentencePieceModel parse_sentence_piece(std::string_view bytes, const std::string& source);

}  // namespace reprise::tokenizer
