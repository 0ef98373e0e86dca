// Runs `reprise embed` as a user does: lines in, vectors out, and input that is no text.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>

#include "core/base/child_process.h"
#include "tests/app/command_line.h"
#include "tests/core/sentence/sentence_testing.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

class EmbedCommand : public CommandLine {
 protected:
  EmbedCommand() { sentence::write_sentence_model(bert_); }

  [[nodiscard]] Outcome embed(const std::string& input,
                              const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"embed", "--model", bert_.path().string(),
                                      "--random-weights"};
    words.insert(words.end(), more.begin(), more.end());
    return reprise(words, input);
  }
  // The vectors that a successful run prints.
  [[nodiscard]] std::vector<std::vector<float>> vectors(
      const std::string& input, const std::vector<std::string>& more = {}) const {
    const Outcome outcome = embed(input, more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return parsed(outcome.out);
  }
  static std::vector<std::vector<float>> parsed(const std::string& out) {
    std::vector<std::vector<float>> all;
    for (size_t at = 0, end = 0; (end = out.find('\n', at)) != std::string::npos;) {
      all.push_back(Json::parse(out.substr(at, end - at)).get<std::vector<float>>());
      at = end + 1;
    }
    return all;
  }
  static double length_of(const std::vector<float>& vector) {
    double squares = 0;
    for (const float value : vector) squares += double{value} * value;
    return std::sqrt(squares);
  }
  // Expects status 1 and a message that contains each of `parts`. Returns the standard output: the
  // vectors of the lines before the refused one.
  [[nodiscard]] std::string refused(const std::string& input, const std::vector<std::string>& more,
                                    const std::vector<std::string>& parts) const {
    const Outcome outcome = embed(input, more);
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    for (const std::string& part : parts)
      EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " not in: " << outcome.err;
    return outcome.out;
  }

  model::TempDir bert_;
};

TEST_F(EmbedCommand, ALineEachInOrderAsTheFolderSays) {
  const auto all = vectors("a b\nc\r\na b\nh g f");
  ASSERT_EQ(all.size(), 4u);
  for (const auto& vector : all) {
    EXPECT_EQ(vector.size(), 32u);
    EXPECT_NEAR(length_of(vector), 1, 1e-5);
  }
  EXPECT_NE(all[0], all[1]);
  for (size_t i = 0; i < 32; ++i) EXPECT_NEAR(all[0][i], all[2][i], 1e-6);
  EXPECT_TRUE(vectors("").empty());
  EXPECT_NE(embed("a\n").err.find("1 texts of 3 tokens"), std::string::npos);
  EXPECT_NE(embed("a\n").err.find("mean, normalized"), std::string::npos);
}

TEST_F(EmbedCommand, OptionsChangeWhatTheFolderSays) {
  const auto plain = vectors("a b c\n", {"--no-normalize"});
  EXPECT_GT(std::abs(length_of(plain[0]) - 1), 1e-3);
  EXPECT_NE(vectors("a b c\n", {"--pooling", "cls", "--no-normalize"}), plain);
  EXPECT_EQ(vectors("b\n", {"--prompt", "a {text} c", "--no-normalize"}), plain);
  EXPECT_NEAR(length_of(vectors("a\n", {"--pooling", "last", "--normalize"})[0]), 1, 1e-5);
  EXPECT_EQ(vectors("a b c\n", {"--max-tokens", "4"}), vectors("a b\n"));
}

TEST_F(EmbedCommand, WeightsMayBeCodes) {
  const Outcome outcome = embed("a b c\n", {"--weight-format", "int8"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("MiB in int8"), std::string::npos) << outcome.err;
  const auto coded = parsed(outcome.out).at(0), plain = vectors("a b c\n").at(0);
  EXPECT_NE(coded, plain);
  for (size_t i = 0; i < 32; ++i) EXPECT_NEAR(coded[i], plain[i], 0.02) << i;
}

// 900 lines take several batches. Each line must have its vector, in the order of the lines.
TEST_F(EmbedCommand, ManyLinesPassInSeveralBatches) {
  std::string input;
  for (int i = 0; i < 900; ++i)
    input += std::string(1, static_cast<char>('a' + i % 8)) + (i % 3 == 0 ? " b c d\n" : " h\n");
  const auto all = vectors(input);
  ASSERT_EQ(all.size(), 900u);
  for (size_t i = 24; i < 900; ++i)
    for (size_t c = 0; c < 32; c += 11) ASSERT_NEAR(all[i][c], all[i % 24][c], 1e-5) << i;
}

// The input is a pipe that stays open: each line is answered before the next one is sent.
TEST_F(EmbedCommand, WhoWaitsIsAnswered) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const auto out = dir_ / "answers.txt";
  const int answers = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int notes = ::open((dir_ / "notes.txt").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  ChildProcess process(
      {REPRISE_PROGRAM, "embed", "--model", bert_.path().string(), "--random-weights"},
      {.in = ends[0], .out = answers, .err = notes});
  for (const int end : {ends[0], answers, notes}) ::close(end);
  for (size_t sent = 1; sent <= 3; ++sent) {
    ASSERT_EQ(::write(ends[1], "a b\n", 4), 4);
    size_t come = 0;
    for (int looks = 0; come < sent && looks < 2000; ++looks) {
      ::usleep(10000);
      come = parsed(read_file(out)).size();
    }
    ASSERT_EQ(come, sent);
  }
  ::close(ends[1]);
  EXPECT_EQ(process.wait().code(), 0);
}

TEST_F(EmbedCommand, JsonLinesHoldLineBreaks) {
  const auto all = vectors("\"a\\nb\"\n{\"id\": 3, \"text\": \"a b\"}\n", {"--json-lines"});
  ASSERT_EQ(all.size(), 2u);
  for (size_t i = 0; i < 32; ++i) EXPECT_NEAR(all[0][i], all[1][i], 1e-6);
  (void)refused("\"a\"\n{\"texts\": 1}\n", {"--json-lines"}, {"input line 2", "\"text\""});
  (void)refused("a\n", {"--json-lines"}, {"input line 1"});
}

TEST_F(EmbedCommand, WhatIsNoTextEndsItBehindTheLinesBefore) {
  EXPECT_EQ(parsed(refused("a\nb\n\nc\n", {}, {"input line 3", "empty"})).size(), 2u);
  EXPECT_EQ(parsed(refused("a\n \t \n", {}, {"input line 2", "empty"})).size(), 1u);
  EXPECT_EQ(parsed(refused("a\nb\xff\n", {}, {"input line 2", "byte 1"})).size(), 1u);
}

TEST_F(EmbedCommand, LongTextsAreCutAndCounted) {
  const Outcome outcome = embed("a\na b c d e f g h a b c d\nb\nh h h h h h h h h h h\n");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.err.find("2 of 4 texts have more than 12 tokens and were cut, the first in "
                             "input line 2"),
            std::string::npos)
      << outcome.err;
  (void)refused("a b c d e f g h\n", {"--prompt", "{text} a b c d"}, {"input line 1", "shorten"});
}

// The program reads only as much of a long line as the model can take, here 12 tokens. The first
// line begins with the same 12 tokens, so the two vectors must be equal.
TEST_F(EmbedCommand, LinesOfAnyLengthAreCutWithoutHoldingThem) {
  std::string line;
  while (line.size() < 3'000'000) line += "a b c d ";
  const Outcome outcome = embed("a b c d a b c d a b c d a b\n" + line + "\nb\n");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto all = parsed(outcome.out);
  ASSERT_EQ(all.size(), 3u);
  for (size_t i = 0; i < 32; ++i) EXPECT_NEAR(all[1][i], all[0][i], 1e-6);
  EXPECT_NE(outcome.err.find("2 of 3 texts have more than 12 tokens"), std::string::npos)
      << outcome.err;
  // White space makes no tokens. So the part that is read may have too few tokens, although more
  // follow.
  const std::string blank = "a" + std::string(3'000'000, ' ') + "b";
  EXPECT_EQ(parsed(refused("a\n" + blank + "\nb\n", {}, {"input line 2", "shorten it"})).size(),
            1u);
  (void)refused("\xef\xbb\xbf" + blank + "\n", {}, {"input line 1", "shorten it"});
  (void)refused(std::string(3'000'000, ' ') + "\n", {}, {"input line 1", "empty in its first"});
  const std::string json = "\"" + std::string(17 << 20, 'a') + "\"\n";
  (void)refused("\"a\"\n" + json, {"--json-lines"}, {"input line 2", "16777216 bytes"});
}

TEST_F(EmbedCommand, InputThatCannotBeReadIsAnError) {
  const int folder = ::open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto notes = dir_ / "notes.txt";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"embed", "--model", bert_.path().string(), "--random-weights"},
           {"tokenize", "--tokenizer", bert_.path().string()}}) {
    const int err = ::open(notes.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    std::vector<std::string> words = command;
    words.insert(words.begin(), REPRISE_PROGRAM);
    ChildProcess process(words, {.in = folder, .out = err, .err = err});
    ::close(err);
    EXPECT_EQ(process.wait().code(), 1) << command[0];
    EXPECT_NE(read_file(notes).find("input cannot be read: Is a directory"), std::string::npos)
        << read_file(notes);
  }
  ::close(folder);
}

TEST_F(EmbedCommand, WrongOptionsAreNamed) {
  (void)refused("a\n", {"--pooling", "maen"}, {"--pooling", "did you mean \"mean\""});
  (void)refused("a\n", {"--prompt", "no place"}, {"--prompt", "{text}"});
  (void)refused("a\n", {"--max-tokens", "2"}, {"2 around each"});
  (void)refused("a\n", {"--max-tokens", "3", "--prompt", "h {text}"}, {"the prompt 1 more"});
  (void)refused("a\n", {"--max-tokens", "99"}, {"24 at most"});
  (void)refused("a\n", {"--normalise"}, {"did you mean \"--normalize\""});
  std::filesystem::remove(bert_.path() / "tokenizer.json");
  (void)refused("a\n", {}, {"neither tokenizer.json"});
  expect_refused({"embed", "--model", "quikstart"}, {"did you mean \"quickstart\""});
}

TEST_F(EmbedCommand, ADecoderGivesItsLastState) {
  const Outcome outcome =
      reprise({"embed", "--model", "quickstart"}, "Once upon a time\nThe cat\n");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto all = parsed(outcome.out);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NE(all[0], all[1]);
  EXPECT_NE(outcome.err.find("lasttoken, not normalized"), std::string::npos) << outcome.err;
}

TEST_F(EmbedCommand, TheSameLinesGiveTheSameBytes) {
  const std::string input = "a b c\nd\ne f g h\n";
  EXPECT_EQ(embed(input).out, embed(input).out);
  const auto one = vectors(input, {"--threads", "1"}), two = vectors(input, {"--threads", "2"});
  for (size_t i = 0; i < one.size(); ++i)
    for (size_t c = 0; c < 32; ++c) EXPECT_NEAR(one[i][c], two[i][c], 1e-6);
}

// ---- methods ----

// The options of a run with AttnCache, which stores the texts of the file `stored`.
std::vector<std::string> attn_cache_words(const std::string& options, const std::string& stored) {
  return {"--method", "attn_cache", "--method-options", options, "--stored", stored};
}

TEST_F(EmbedCommand, WhereNothingHitsVectorsAreTheModelsOwn) {
  bert_.write("stored.txt", "a b c\nd e\n");
  const auto words = attn_cache_words(R"({"preset": "raw", "threshold": 2.0})",
                                      (bert_.path() / "stored.txt").string());
  EXPECT_EQ(vectors("a b c\n", words), vectors("a b c\n"));
  const Outcome outcome = embed("a b c\nd e\nf\n", words);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto got = parsed(outcome.out), want = vectors("a b c\nd e\nf\n");
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)  // one text a step here, but three in the other run
    for (size_t c = 0; c < 32; ++c) EXPECT_NEAR(got[i][c], want[i][c], 1e-6) << i;
  for (const char* part : {"\"attn_cache\" is approximate", "0 of 3 texts hit, 0 of 6 layers",
                           "stored_texts: 2 texts", "\"below_threshold\":2"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " not in: " << outcome.err;
}

TEST_F(EmbedCommand, StoredTextsHitOneByOne) {
  bert_.write("stored.txt", "a b c\nd e\n");
  const auto words =
      attn_cache_words(R"({"preset": "raw"})", (bert_.path() / "stored.txt").string());
  const Outcome outcome = embed("a b c\nf g h a\n", words);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("1 of 2 texts hit, 2 of 4 layers"), std::string::npos) << outcome.err;
  const auto got = parsed(outcome.out), want = vectors("a b c\nf g h a\n");
  for (size_t c = 0; c < 32; ++c) {
    EXPECT_NEAR(got[0][c], want[0][c], 0.02) << c;  // stored maps are rounded to bf16
    EXPECT_NEAR(got[1][c], want[1][c], 1e-6) << c;
  }
  EXPECT_NE(got[0], want[0]);
}

// The input is a pipe that stays open, so the command waits for a line when the signal comes.
TEST_F(EmbedCommand, AnInterruptLeavesNoStoredMapsBehind) {
  bert_.write("stored.txt", "a b c\nd e\n");
  const auto temporary = dir_ / "temporary", out = dir_ / "answers.txt";
  std::filesystem::create_directory(temporary);
  const testing::EnvironmentVariable tmpdir("TMPDIR", temporary.string());
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const int answers = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int notes = ::open((dir_ / "notes.txt").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  std::vector<std::string> words = {REPRISE_PROGRAM, "embed", "--model", bert_.path().string(),
                                    "--random-weights"};
  for (const std::string& word :
       attn_cache_words(R"({"preset": "raw"})", (bert_.path() / "stored.txt").string()))
    words.push_back(word);
  ChildProcess process(words, {.in = ends[0], .out = answers, .err = notes});
  for (const int end : {ends[0], answers, notes}) ::close(end);
  ASSERT_EQ(::write(ends[1], "a b\n", 4), 4);
  for (int looks = 0; parsed(read_file(out)).empty() && looks < 2000; ++looks) ::usleep(10000);
  EXPECT_FALSE(std::filesystem::is_empty(temporary)) << "the method stores its maps here";
  process.send(SIGINT);
  EXPECT_EQ(process.wait().code(), 130) << read_file(dir_ / "notes.txt");
  ::close(ends[1]);
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
  EXPECT_NE(read_file(dir_ / "notes.txt").find("1 texts of"), std::string::npos);
}

TEST_F(EmbedCommand, TextsAreFormedAsTheMethodWantsThem) {
  bert_.write("stored.jsonl", "{\"text\": \"a b c\"}\n");
  auto words = attn_cache_words(
      R"({"preset": "raw", "padded_tokens": 3, "alignment": "end", "threshold": -1000})",
      (bert_.path() / "stored.jsonl").string());
  words.emplace_back("--json-lines");
  const Outcome outcome = embed("\"d\"\n\"e f g h\"\n", words);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  // All texts are cut to three tokens, so the maps of the only stored text fit both.
  EXPECT_NE(outcome.err.find("2 of 2 texts hit"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("1 of 2 texts are longer than method \"attn_cache\" takes"),
            std::string::npos)
      << outcome.err;
}

TEST_F(EmbedCommand, TextsThatTheMethodCutsKeepTheirSpecialTokens) {
  bert_.write("stored.txt", "a b c\n");
  const auto words = attn_cache_words(
      R"({"preset": "raw", "padded_tokens": 3, "alignment": "end", "threshold": 2.0})",
      (bert_.path() / "stored.txt").string());
  EXPECT_EQ(vectors("e f g h\n", words), vectors("e\n"));
  const Outcome none =
      embed("e\n", attn_cache_words(R"({"preset": "raw", "padded_tokens": 2, "alignment": "end"})",
                                    (bert_.path() / "stored.txt").string()));
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("2 tokens (padded_tokens), and the tokenizer puts 2 around each"),
            std::string::npos)
      << none.err;
  std::vector<std::string> prompted = words;
  prompted.insert(prompted.end(), {"--prompt", "h {text}"});
  (void)refused("e\n", prompted, {"3 tokens (padded_tokens)", "the prompt 1 more"});
}

TEST_F(EmbedCommand, MethodsThatChooseLayersSayWhichOnes) {
  bert_.write("texts.txt", "a b c\nd e f g\nh\n");
  const Outcome outcome =
      embed("a b\n", {"--method", "attn_drop", "--method-options", R"({"dropped": 1})",
                      "--training", (bert_.path() / "texts.txt").string()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("dropped_layers: ["), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("calibration_texts: 3"), std::string::npos) << outcome.err;
  EXPECT_NE(parsed(outcome.out), vectors("a b\n"));
}

TEST_F(EmbedCommand, ThePoolingDoesNotChooseTheDroppedLayers) {
  bert_.write("texts.txt", "Once upon a time\nThe cat sat on a mat\nLily ate a red apple\n");
  const auto dropped = [&](const char* method, const char* pooling) {
    const Outcome outcome = reprise({"embed", "--model", "quickstart", "--method", method,
                                     "--method-options", R"({"dropped": 1})", "--pooling", pooling,
                                     "--training", (bert_.path() / "texts.txt").string()},
                                    "The dog\n");
    const size_t at = outcome.err.find("dropped_layers: [");
    EXPECT_NE(at, std::string::npos) << outcome.err;
    return at == std::string::npos ? "" : outcome.err.substr(at, outcome.err.find('\n', at) - at);
  };
  for (const char* method : {"attn_drop", "block_drop"}) {
    const std::string of_mean = dropped(method, "mean");
    for (const char* pooling : {"cls", "last"}) EXPECT_EQ(dropped(method, pooling), of_mean);
  }
}

// AttnCache runs beside a method that drops layers, and its stored maps are computed without these
// layers. So a text that finds its own maps has the vector that the other method alone gives, and
// the bound on the loss lets it hit, however much dropping the layers changes.
TEST_F(EmbedCommand, ALossIsBoundedAgainstTheOtherMethodAlone) {
  std::string input;
  for (const char* who : {"cat", "dog", "bird"})
    for (const char* what : {"sat", "ran", "ate", "slept"})
      input += fmt::format("The {} {}\n", who, what);
  bert_.write("texts.txt", input);
  const std::string texts = (bert_.path() / "texts.txt").string();
  const auto expect_beside = [&](const char* other, const char* hits) {
    std::vector<std::string> words = {"embed", "--model", "quickstart", "--training", texts};
    const std::string options = fmt::format(
        R"({{"preset": "raw", "map_form": "f32", "loss_bound": 0.08, "beside": {}}})", other);
    for (const std::string& word : attn_cache_words(options, texts)) words.push_back(word);
    const Outcome outcome = reprise(words, input);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.err.find(hits), std::string::npos) << outcome.err;
  };
  expect_beside(R"({"method": "block_drop", "dropped": 2})", "12 of 12 texts hit");
  // If all five layers drop their attention, none is left in which to look a text up.
  expect_beside(R"({"method": "attn_drop", "dropped": 5})", "0 of 12 texts hit");
}

TEST_F(EmbedCommand, WhatAMethodLacksIsNamed) {
  const std::string raw = R"({"preset": "raw"})";
  (void)refused("a\n", {"--method", "paged"},
                {"method \"paged\" does not run here", "where keys and values lie"});
  (void)refused("a\n", {"--method", "attn_cach"}, {"did you mean \"attn_cache\""});
  (void)refused("a\n", {"--method", "attn_cache", "--method-options", raw}, {"--stored"});
  (void)refused("a\n", {"--method", "san"}, {"--training"});
  (void)refused("a\n", {"--stored", "texts.txt"}, {"--stored texts.txt", "--method: attn_cache"});
  (void)refused("a\n", {"--method", "lazy_former", "--training", "texts.txt"},
                {"--training texts.txt", "\"lazy_former\" uses no such texts"});
  (void)refused("a\n", attn_cache_words(raw, "nowhere.txt"), {"nowhere.txt"});
  bert_.write("stored.txt", "a b\n\nc\n");
  (void)refused("a\n", attn_cache_words(raw, (bert_.path() / "stored.txt").string()),
                {"stored.txt line 2", "empty"});
}

}  // namespace
}  // namespace reprise::app
