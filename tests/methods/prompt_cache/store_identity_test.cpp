// A store that several schemas share, or that somebody has altered, gives each unit its own states
// or none.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "core/base/json.h"
#include "core/store/segment_file.h"
#include "core/store/segment_header.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/methods/prompt_cache/prompt_cache_testing.h"
#include "tests/support/tiny_models.h"

namespace reprise::prompt_cache {
namespace {

namespace fs = std::filesystem;

class SharedStore : public ::testing::Test {
 protected:
  // The outcome of a prompt whose modules' states come from the folder.
  Outcome from_folder(const std::string& schema, Mode mode, const std::string& prompt,
                      kv::Verify verify = kv::Verify::kAll) {
    Prepared prepared(*decoder_, schema, mode, {}, {.directory = folder_.path(), .verify = verify});
    prepared.states.encode();
    return run_prompts(*decoder_, {prepared.prepare(prompt)})[0];
  }
  Outcome alone(const std::string& schema, Mode mode, const std::string& prompt) {
    Prepared prepared(*decoder_, schema, mode);
    return run_prompts(*decoder_, {prepared.prepare(prompt)})[0];
  }

  std::unique_ptr<model::Decoder> decoder_ =
      testing::random_decoder(testing::scaled_down("tinyllama-1.1b"), Context::machine());
  model::TempDir folder_;
};

std::string prompt_of(const std::string& imports) {
  return fmt::format("<prompt schema=\"s\">{}61 62 63</prompt>", imports);
}

// The schemas have the same texts at the same positions, with the names of two modules swapped.
TEST_F(SharedStore, SwappedNamesOfTheSameTextsAreOtherStates) {
  const std::vector<int32_t> first = some_ids(9, 2);
  const auto schema_of = [&](const auto& around, const std::string& one, const std::string& other,
                             const std::vector<int32_t>& second) {
    return fmt::format("<schema name=\"s\">{}{}{}{}</schema>", around.first,
                       module_text(one, first), module_text(other, second), around.second);
  };
  for (const Mode mode : {Mode::kIsolated, Mode::kJoint, Mode::kScaffold, Mode::kRepair})
    for (const auto& around : {std::pair("", ""), std::pair("<union>", "</union>"),
                               std::pair("", "<scaffold modules=\"a b\"/>")})
      for (const auto& second : {some_ids(9, 3), some_ids(17, 4)})
        for (const char* imports : {"<a/>", "<b/>", "<a/><b/>"}) {
          if (around.first[0] == '<' && std::string(imports) == "<a/><b/>") continue;
          for (const auto& [one, other] : {std::pair("a", "b"), std::pair("b", "a")}) {
            const std::string schema = schema_of(around, one, other, second);
            EXPECT_EQ(from_folder(schema, mode, prompt_of(imports)),
                      alone(schema, mode, prompt_of(imports)))
                << name_of(mode) << " " << schema << imports;
          }
        }
}

// A random schema of few names and few texts, so that many schemas differ only in which module has
// which text.
std::string drawn_schema(std::mt19937& random) {
  const auto draw = [&](int below) { return static_cast<int>(random() % unsigned(below)); };
  const auto text = [&] { return ids_text(some_ids(4 + 4 * draw(2), draw(3))); };
  std::vector<std::string> names = {"a", "b", "c"};
  std::shuffle(names.begin(), names.end(), random);
  const auto module = [&](int index, const std::string& inside = "") {
    return fmt::format("<module name=\"{}\">{}{}</module>", names[static_cast<size_t>(index)],
                       text(), inside);
  };
  std::string body = draw(2) == 0 ? text() : "";
  switch (draw(4)) {
    case 0:
      body += module(0) + module(1) + module(2);
      break;
    case 1:
      body += "<union>" + module(0) + module(1) + "</union>" + module(2);
      break;
    case 2:
      body += module(0, module(1)) + module(2);
      break;
    default:
      body += module(0) + module(1) + module(2) +
              fmt::format("<scaffold modules=\"{} {}\"/>", names[0], names[1]);
  }
  return "<schema name=\"s\">" + body + "</schema>";
}

TEST_F(SharedStore, DrawnSchemasOfAFewNamesAndTextsNeverShareStates) {
  const unsigned seed = 20261123;
  std::mt19937 random(seed);
  for (int i = 0; i < 100; ++i) {
    const std::string schema = drawn_schema(random);
    const Mode mode = static_cast<Mode>(random() % 4);
    const std::string imports =
        std::vector<std::string>{"<a/>", "<b/>", "<c/>", "<b/><c/>"}[random() % 4];
    // A prompt that the schema refuses (for example a nested module alone) does not test the store.
    Outcome want;
    try {
      want = alone(schema, mode, prompt_of(imports));
    } catch (const Error&) {
      continue;
    }
    EXPECT_EQ(from_folder(schema, mode, prompt_of(imports)), want)
        << "seed " << seed << ", schema " << i << ": " << schema << imports << name_of(mode);
  }
}

std::string content_of(const fs::path& path) { return read_file(path); }

void write_content(const fs::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  ASSERT_TRUE(file.good());
}

std::vector<fs::path> segments_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".segment") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

// Returns the file with another header, whose hash matches. The states are unchanged.
std::string with_header(const std::string& content, const kv::SegmentFileHeader& header,
                        size_t data_begin) {
  std::string text = kv::header_text(header);
  text.resize((text.size() + 4095) / 4096 * 4096, '\0');
  return text + content.substr(data_begin);
}

// Other counts with the same number of bytes pass every check of the file itself.
TEST_F(SharedStore, FilesOfOtherCountsWithMendedHashesAreComputedAnew) {
  const std::string schema =
      "<schema name=\"s\">" + module_text("a", some_ids(16, 2)) + "</schema>";
  const std::string prompt = prompt_of("<a/>");
  const Outcome want = alone(schema, Mode::kIsolated, prompt);
  EXPECT_EQ(from_folder(schema, Mode::kIsolated, prompt), want);
  ASSERT_EQ(segments_in(folder_.path()).size(), 1u);
  const fs::path path = segments_in(folder_.path())[0];
  const std::string sound = content_of(path);
  const kv::ParsedHeader parsed =
      kv::read_header(path, std::as_bytes(std::span(sound.data(), sound.size())));
  using Change = std::function<void(kv::SegmentShape&)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"half the tokens of twice the heads",
       [](kv::SegmentShape& s) { s.tokens /= 2, s.kv_heads *= 2; }},
      {"twice the tokens of half the head",
       [](kv::SegmentShape& s) { s.tokens *= 2, s.head_dim /= 2; }},
      {"twice the tokens in two bytes",
       [](kv::SegmentShape& s) { s.tokens *= 2, s.dtype = DType::kBF16; }},
      {"twice the head in two bytes",
       [](kv::SegmentShape& s) { s.head_dim *= 2, s.dtype = DType::kF16; }},
  };
  for (const kv::Verify verify : {kv::Verify::kAll, kv::Verify::kHeader})
    for (const auto& [what, change] : changes) {
      kv::SegmentFileHeader header = parsed.header;
      change(header.shape);
      write_content(path, with_header(sound, header, parsed.data_begin));
      EXPECT_EQ(from_folder(schema, Mode::kIsolated, prompt, verify), want) << what;
      EXPECT_EQ(content_of(path).substr(parsed.data_begin), sound.substr(parsed.data_begin))
          << "put anew after: " << what;
    }
}

// Puts another unit's sound file, with equal counts, under this unit's name and key.
TEST_F(SharedStore, AFileOfOtherTokensUnderAMendedKeyIsComputedAnew) {
  const auto schema = [](int seed) {
    return "<schema name=\"s\">" + module_text("a", some_ids(16, seed)) + "</schema>";
  };
  const std::string prompt = prompt_of("<a/>");
  (void)from_folder(schema(2), Mode::kIsolated, prompt);
  const fs::path first = segments_in(folder_.path())[0];
  const std::string of_first = content_of(first);
  fs::remove(first);
  (void)from_folder(schema(3), Mode::kIsolated, prompt);
  const fs::path second = segments_in(folder_.path())[0];
  const std::string of_second = content_of(second);
  const auto parse = [](const fs::path& path, const std::string& content) {
    return kv::read_header(path, std::as_bytes(std::span(content.data(), content.size())));
  };
  kv::SegmentFileHeader header = parse(first, of_first).header;
  header.key = parse(second, of_second).header.key;
  write_content(second, with_header(of_first, header, parse(first, of_first).data_begin));
  EXPECT_EQ(from_folder(schema(3), Mode::kIsolated, prompt),
            alone(schema(3), Mode::kIsolated, prompt));
}

// Flips one bit at a time. Half of the flips are in a header's text, whose hash is then corrected,
// and the others anywhere in a file. REPRISE_FLIPS sets the number of flips.
TEST_F(SharedStore, FlippedBitsNeverChangeAToken) {
  const std::string schema = "<schema name=\"s\"><union>" + module_text("a", some_ids(11, 2)) +
                             module_text("b", some_ids(7, 3)) + "</union>" +
                             module_text("c", some_ids(5, 4)) + "</schema>";
  const std::string prompt = prompt_of("<a/><c/>");
  const Outcome want = alone(schema, Mode::kIsolated, prompt);
  EXPECT_EQ(from_folder(schema, Mode::kIsolated, prompt), want);
  const std::vector<fs::path> files = segments_in(folder_.path());
  ASSERT_EQ(files.size(), 3u);
  std::vector<std::string> sound;
  for (const fs::path& file : files) sound.push_back(content_of(file));
  const unsigned seed = 7;
  std::mt19937 random(seed);
  const char* wanted = std::getenv("REPRISE_FLIPS");
  const int flips = wanted == nullptr ? 400 : std::stoi(wanted);
  for (int i = 0; i < flips; ++i) {
    const size_t which = random() % files.size();
    std::string content = sound[which];
    constexpr size_t kTextBegin = 24;  // behind magic, length and hash
    const size_t text_bytes = content.find('\0', kTextBegin) - kTextBegin;
    const bool is_mended = i % 2 == 0;
    const size_t at = is_mended ? kTextBegin + random() % text_bytes : random() % content.size();
    content[at] = static_cast<char>(content[at] ^ (1 << random() % 8));
    if (is_mended) {
      const std::string covered = content.substr(0, 16) + content.substr(kTextBegin, text_bytes);
      const uint64_t hash = XXH3_64bits(covered.data(), covered.size());
      std::memcpy(content.data() + 16, &hash, sizeof hash);
    }
    write_content(files[which], content);
    EXPECT_EQ(from_folder(schema, Mode::kIsolated, prompt), want)
        << "seed " << seed << ", flip " << i << ", file " << which << ", byte " << at;
    for (size_t f = 0; f < files.size(); ++f) write_content(files[f], sound[f]);
  }
}

}  // namespace
}  // namespace reprise::prompt_cache
