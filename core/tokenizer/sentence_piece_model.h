// Reads and checks a SentencePiece model file before the library loads it, since the library does
// not check files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::tokenizer {

// The parts of the file that are needed for decoding and checking. Field numbers are those of the
// format's sentencepiece_model.proto.
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

  // True for a Llama-like model (BPE, byte fallback, identity rules) whose option to remove extra
  // spaces is only the trainer's default. Such a model is loaded so that it keeps extra spaces, as
  // llama2.c, llama.cpp and the tokenizer.json made from such a model do.
  [[nodiscard]] bool drops_spaces_by_default() const {
    return model_type == 2 && has_byte_fallback && normalizer_name == "identity" &&
           removes_extra_spaces;
  }
};

// Throws Error naming `source` if the bytes are no SentencePiece model, or if the library would
// crash on them: bad wire format, unknown types, pieces that are empty, duplicate or not UTF-8,
// scores that are not finite, missing byte pieces, or a character map that points outside itself.
SentencePieceModel parse_sentence_piece(std::string_view bytes, const std::string& source);

}  // namespace reprise::tokenizer
