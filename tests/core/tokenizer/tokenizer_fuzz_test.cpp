// Reads damaged tokenizer files and texts: for any bytes, the outcome is a result or an Error.
#include "core/tokenizer/sentence_piece.h"
#include "tests/core/tokenizer/sentence_piece_training.h"
#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/support/json.h"

namespace reprise::tokenizer {
namespace {

// The number of rounds: REPRISE_FUZZ_ROUNDS, or `usual`, which takes a few seconds. A failure
// prints the seed and the round.
int rounds_or(int usual) {
  const char* rounds = std::getenv("REPRISE_FUZZ_ROUNDS");
  return rounds == nullptr ? usual : std::atoi(rounds);
}

// A few edits: flipped, set, removed, repeated or swapped bytes, and bytes of numbers made large.
std::string mutated(std::string bytes, std::mt19937_64& random) {
  for (uint64_t edits = 1 + random() % 4; edits > 0 && !bytes.empty(); --edits) {
    const size_t at = random() % bytes.size();
    const size_t length = std::min<size_t>(1 + random() % 16, bytes.size() - at);
    switch (random() % 6) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 1:
        bytes[at] = static_cast<char>(random());
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(random() % bytes.size(), bytes.substr(at, length));
        break;
      case 4:
        bytes.replace(at, length, std::string(length, "\xff\x7f\0 9{"[random() % 6]));
        break;
      default:
        std::swap(bytes[at], bytes[random() % bytes.size()]);
    }
  }
  return bytes;
}

// Replaces one value of the document by another value of the document, or by an odd one.
void mutate_value(Json& json, std::mt19937_64& random) {
  std::vector<Json*> values;
  const auto collect = [&](auto&& self, Json& value) -> void {
    values.push_back(&value);
    // Leaves out large containers, because the vocabulary's entries would outnumber everything
    // else.
    if (value.is_structured() && value.size() < 60)
      for (Json& child : value) self(self, child);
  };
  collect(collect, json);
  static const std::vector<Json> kOdd = {
      nullptr,  true,     -1,       1e300,         4294967296,    "",
      "\u2581", "(a+)+$", "\\s+|.", Json::array(), Json::object()};
  const Json replacement =
      random() % 2 == 0 ? kOdd[random() % kOdd.size()] : Json(*values[random() % values.size()]);
  *values[1 + random() % (values.size() - 1)] = replacement;
}

void use(const Tokenizer& tokenizer, std::mt19937_64& random) {
  const std::string text = random_text(random, 30) + "<s>the <|end|>[SEP]";
  std::vector<int32_t> ids = tokenizer.encode(text);
  EXPECT_LT(ids.size(), 100'000u);
  for (const int32_t id : ids) EXPECT_GE(id, 0);
  ids.push_back(static_cast<int32_t>(random()));
  ids.push_back(static_cast<int32_t>(random() % 600));
  EXPECT_EQ(decode_streaming(tokenizer, ids), tokenizer.decode(ids));
}

template <typename Make>
void attempt(Make&& make, std::mt19937_64& random, int& accepted) {
  try {
    const std::unique_ptr<Tokenizer> tokenizer = make();
    ++accepted;
    use(*tokenizer, random);
  } catch (const Error&) {
  }
}

TEST(TokenizerFuzz, DamagedJson) {
  int accepted = 0;
  int seed = 0;
  for (const Json& original : {llama_json(), byte_level_json(), bert_json()}) {
    std::mt19937_64 random(static_cast<uint64_t>(++seed));
    const std::string text = original.dump();
    for (int round = 0; round < rounds_or(700); ++round) {
      SCOPED_TRACE(fmt::format("seed {} round {}", seed, round));
      attempt(
          [&] {
            if (round % 4 == 0)
              return std::make_unique<JsonTokenizer>(parse_json(mutated(text, random), "fuzz"),
                                                     "fuzz");
            Json json = original;
            for (uint64_t edits = 1 + random() % 3; edits > 0; --edits) mutate_value(json, random);
            return std::make_unique<JsonTokenizer>(json, "fuzz");
          },
          random, accepted);
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(TokenizerFuzz, DamagedSentencePieceModels) {
  int accepted = 0;
  int seed = 10;
  for (const char* type : {"bpe", "unigram"}) {
    for (const char* rules : {"identity", "nmt_nfkc"}) {
      std::mt19937_64 random(static_cast<uint64_t>(++seed));
      const std::string model = train_sentence_piece(type, rules);
      ASSERT_FALSE(model.empty());
      for (int round = 0; round < rounds_or(400); ++round) {
        SCOPED_TRACE(fmt::format("seed {} round {}", seed, round));
        attempt(
            [&] {
              return std::make_unique<SentencePieceTokenizer>(mutated(model, random), "fuzz");
            },
            random, accepted);
      }
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(TokenizerFuzz, DamagedTexts) {
  const JsonTokenizer byte_level = make_tokenizer(byte_level_json());
  const JsonTokenizer bert = make_tokenizer(bert_json());
  std::mt19937_64 random(20);
  for (int round = 0; round < rounds_or(2000); ++round) {
    SCOPED_TRACE(round);
    const std::string text = mutated(random_text(random, 10), random);
    for (const Tokenizer* tokenizer :
         {static_cast<const Tokenizer*>(&byte_level), static_cast<const Tokenizer*>(&bert)}) {
      try {
        (void)tokenizer->encode(text);
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("UTF-8"), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace reprise::tokenizer
