// A results folder may come from anywhere. Whatever is wrong in it, printing and drawing must
// succeed or end with one sentence that names the file.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <random>

#include "app/record_table.h"
#include "app/report/facts.h"
#include "core/base/error.h"
#include "core/base/python.h"
#include "core/base/visible.h"
#include "results/drawing.h"
#include "results/folder.h"
#include "tests/app/subprocess.h"
#include "tests/support/json.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSeed = 20240717;
constexpr int kMutants = 400;

// Collects all values inside a document, the document itself first.
void collect(Json& value, std::vector<Json*>& nodes) {
  nodes.push_back(&value);
  if (value.is_structured())
    for (Json& child : value) collect(child, nodes);
}

Json nested(int levels) {
  Json value = 1;
  for (int level = 0; level < levels; ++level) value = Json::array({std::move(value)});
  return value;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // Returns `text`, a JSON document, with one fault, and describes the fault in `what`.
  std::string mutate(const std::string& text, std::string& what) {
    const size_t kind = below(8);
    if (kind == 0) {
      what = "truncated";
      return text.substr(0, below(text.size()));
    }
    if (kind == 1) {
      what = "a byte replaced";
      std::string changed = text;
      changed[below(text.size())] = static_cast<char>(below(256));
      return changed;
    }
    if (kind == 2) return replace_a_number(text, what);
    Json document = Json::parse(text);
    std::vector<Json*> nodes;
    collect(document, nodes);
    Json& node = *nodes[below(nodes.size())];
    if (kind == 3) return drop_from(document, nodes, what);
    if (kind == 4) {
      Json& other = *nodes[below(nodes.size())];
      what = "two values swapped";
      const Json one = node, two = other;  // copies, because one value may contain the other
      node = two;
      if (!one.is_structured()) other = one;
      return document.dump();
    }
    node = odd_value(what);
    return document.dump();
  }

  size_t below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }

 private:
  Json odd_value(std::string& what) {
    const std::vector<std::pair<std::string, Json>> kOdd = {
        {"null", nullptr},
        {"a list", Json::array()},
        {"an object", {{"a", 1}}},
        {"true", true},
        {"a word", "word"},
        {"an empty word", ""},
        {"a path upwards", "../../escaped"},
        {"an absolute path", "/tmp/escaped"},
        {"a negative number", -1},
        {"a huge number", 1e300},
        {"the largest integer", UINT64_MAX},
        {"a fraction", 0.5},
        {"zero", 0},
        {"a long word", std::string(100000, 'x')},
        {"a placeholder", "{nothing}"},
        {"a control character", "\x1b[31m\n"},
        {"depth", nested(150)},
        {"too much depth", nested(300)}};
    const auto& [name, value] = kOdd[below(kOdd.size())];
    what = "a value became " + name;
    return value;
  }

  std::string drop_from(Json& document, const std::vector<Json*>& nodes, std::string& what) {
    for (int attempt = 0; attempt < 100; ++attempt) {
      Json& node = *nodes[below(nodes.size())];
      if (!node.is_object() || node.empty()) continue;
      auto member = node.begin();
      std::advance(member, static_cast<int64_t>(below(node.size())));
      what = "without \"" + member.key() + "\"";
      node.erase(member);
      break;
    }
    return document.dump();
  }

  // Replaces a number by text that is not JSON, or by a number that no double can hold.
  std::string replace_a_number(const std::string& text, std::string& what) {
    const std::vector<std::string> kNumbers = {"NaN",   "Infinity", "-Infinity",
                                               "1e999", "1e",       "0x10"};
    size_t at = below(text.size());
    at = text.find_first_of("0123456789", at);
    if (at == std::string::npos) at = text.find_first_of("0123456789");
    const size_t end = text.find_first_not_of("0123456789.eE+-", at);
    const std::string& number = kNumbers[below(kNumbers.size())];
    what = "a number became " + number;
    return text.substr(0, at) + number + (end == std::string::npos ? "" : text.substr(end));
  }

  std::mt19937_64 random_;
};

class MutatedResults : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() / fmt::format("reprise_mutated_{}", ::getpid());
    fs::create_directories(dir_);
    Subprocess run(
        {REPRISE_PROGRAM, "run", "quickstart", "--scale", "smoke", "--set", "repetitions=1",
         "--set", "warmup=0", "--out", (dir_ / "good").string(), "--no-plot", "--threads", "1"},
        dir_);
    ASSERT_EQ(run.wait(), 0) << run.err();
    write(dir_ / "good" / "skipped.json",
          R"([{"point": "p", "group": "g", "label": "l", "method": "m", "reason": "large",
               "need_bytes": 1e9, "available_bytes": 1}])");
  }
  void TearDown() override { fs::remove_all(dir_); }

  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  // Puts one fault into one file of the folder; returns its description.
  std::string mutate(Mutator& mutator, const fs::path& mutant) const {
    fs::remove_all(mutant);
    fs::copy(dir_ / "good", mutant, fs::copy_options::recursive);
    const char* const files[] = {"run.json", "records.jsonl", "records.jsonl", "skipped.json"};
    const fs::path file = mutant / files[mutator.below(4)];
    std::string what;
    std::string text = read_file(file);
    if (file.extension() == ".json") {
      text = mutator.mutate(text, what);
    } else {  // damages one line of the file
      std::vector<std::string> lines;
      for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
        lines.push_back(text.substr(begin, text.find('\n', begin) - begin));
      const size_t line = mutator.below(lines.size());
      lines[line] = mutator.mutate(lines[line], what);
      text.clear();
      for (const std::string& one : lines) text += one + "\n";
      what += fmt::format(" in line {}", line + 1);
    }
    write(file, text);
    return file.filename().string() + ": " + what;
  }

  // "" if the folder can be drawn, otherwise the error's message.
  std::string refusal(const fs::path& folder) {
    try {
      const results::ResultsFolder results = results::read_folder(folder);
      for (const char* format : {"table", "csv", "markdown", "json"})
        (void)record_table(results, {.format = format});
      (void)json_text(results::figures_document(results));
      keep_document(results);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  // Keeps the document from which a page's templates are filled, comparing the folder with itself.
  // Leaves out the figures, which another test draws.
  void keep_document(const results::ResultsFolder& results) {
    Json document = json_of(report_document({{results, {}}, {results, {}}}, {}));
    for (Json& report : document["reports"]) {
      report["figures"] = Json::array();
      report["no_figures"] = "none were asked for";
    }
    fs::create_directories(dir_ / "documents");
    write(dir_ / "documents" / std::to_string(++documents_), document.dump());
  }

  // Expects that all kept documents have a page. One process renders them all, because starting it
  // takes longer than rendering a page.
  void expect_pages() {
    const auto python = find_python({.name = "jinja2", .package = "python3-jinja2"});
    if (!python) GTEST_SKIP() << "there is no jinja2 here (Debian: apt-get install python3-jinja2)";
    ASSERT_GT(documents_, 0);
    Subprocess render({*python, REPRISE_SOURCE_DIR "/tests/app/report/render_documents.py",
                       REPRISE_SOURCE_DIR "/plots", (dir_ / "documents").string()},
                      dir_);
    EXPECT_EQ(render.wait(), 0) << render.out() << render.err();
  }

  // Runs a command on the folder and checks how it ends; `message` is the refusal(), if any.
  void expect_end(const std::string& command, const fs::path& folder, const std::string& message,
                  const std::string& what) const {
    Subprocess process(
        {REPRISE_PROGRAM, command, folder.string(), "--out", (dir_ / command).string()}, dir_);
    const int status = process.wait();
    const std::string err = process.err();
    EXPECT_TRUE(status == 0 || status == 1) << what << " ended with " << status << ": " << err;
    if (!message.empty()) {
      EXPECT_EQ(status, 1) << what;
      // Bytes that are not UTF-8 are escaped.
      EXPECT_EQ(err, visible("reprise: " + message + "\n")) << what;
    }
    for (const char* word : {"unexpected failure", "Traceback", "terminate"})
      EXPECT_EQ(err.find(word), std::string::npos) << what << ": " << err;
  }

  fs::path dir_;
  int documents_ = 0;
};

TEST_F(MutatedResults, AreDrawnOrRefusedInASentenceThatNamesTheFile) {
  SCOPED_TRACE(kSeed);
  Mutator mutator(kSeed);
  const fs::path folder = dir_ / "mutant";
  int refused = 0, drawn = 0;
  for (int m = 0; m < kMutants; ++m) {
    const std::string what = mutate(mutator, folder);
    std::string message;
    ASSERT_NO_THROW(message = refusal(folder)) << what;  // no other exception may come
    // Runs the program itself on the first few folders of each outcome: tracebacks, crashes and
    // misplaced figures show only there.
    int& count = message.empty() ? drawn : refused;
    ++count;
    if (!message.empty()) {
      EXPECT_NE(message.find(folder.string()), std::string::npos) << what << ": " << message;
      EXPECT_LT(message.size(), 3000u) << what;
      EXPECT_EQ(message.find('\n'), std::string::npos) << what << ": " << message;
    }
    if (count <= 5) expect_end("plot", folder, message, what);
    if (count <= 2) expect_end("report", folder, message, what);
  }
  EXPECT_GT(refused, kMutants / 10);
  EXPECT_GT(drawn, kMutants / 10);
  EXPECT_FALSE(fs::exists("/tmp/escaped.png"));
  expect_pages();
}

// Tries every place of the manifest in turn, where the test above tries places at random.
TEST_F(MutatedResults, ANullAnywhereInTheManifestIsDrawnOrRefused) {
  const fs::path folder = dir_ / "mutant";
  fs::copy(dir_ / "good", folder, fs::copy_options::recursive);
  const Json manifest = Json::parse(read_file(folder / "run.json"));
  const Json flat = manifest.flatten();
  int places = 0;
  for (const auto& [pointer, value] : flat.items())
    for (std::string place = pointer; !place.empty(); place.resize(place.rfind('/'))) {
      Json mutant = manifest;
      mutant[Json::json_pointer(place)] = nullptr;
      write(folder / "run.json", mutant.dump());
      ASSERT_NO_THROW((void)refusal(folder)) << place;
      ++places;
    }
  EXPECT_GT(places, 100);
  expect_pages();
}

// A file of records without its folder has the settings in its first line (the run's entry), and no
// manifest to be checked with.
TEST_F(MutatedResults, RecordsAloneAreToldOrRefusedInASentenceThatNamesTheFile) {
  constexpr uint64_t kRecordsSeed = kSeed + 1;
  constexpr int kFiles = 150;
  SCOPED_TRACE(kRecordsSeed);
  Mutator mutator(kRecordsSeed);
  const std::string good = read_file(dir_ / "good" / "records.jsonl");
  const std::string file = (dir_ / "alone.jsonl").string();
  const std::string undrawn = "the plot script /nowhere/reprise_plot.py is not there";
  ::setenv("REPRISE_PLOTS_DIR", "/nowhere", 1);  // nothing is drawn here; another test draws
  int refused = 0, told = 0;
  for (int f = 0; f < kFiles; ++f) {
    std::string what;
    // Damages the run's entry and the first record by turns.
    const size_t begin = f % 2 == 0 ? 0 : good.find('\n') + 1, end = good.find('\n', begin);
    write(file, good.substr(0, begin) + mutator.mutate(good.substr(begin, end - begin), what) +
                    good.substr(end));
    Subprocess plot({REPRISE_PROGRAM, "plot", file}, dir_);
    EXPECT_EQ(plot.wait(), 1) << what;
    const std::string err = plot.err();
    const size_t sentence = err.find("reprise: ");
    ASSERT_NE(sentence, std::string::npos) << what << ": " << err;
    for (const char* word : {"unexpected failure", "Traceback", "terminate"})
      EXPECT_EQ(err.find(word), std::string::npos) << what << ": " << err;
    if (err.find(undrawn) != std::string::npos) {
      ++told;
      continue;
    }
    ++refused;
    EXPECT_NE(err.find(file), std::string::npos) << what << ": " << err;
    EXPECT_EQ(err.find('\n', sentence), err.size() - 1) << what << ": " << err;
  }
  ::unsetenv("REPRISE_PLOTS_DIR");
  EXPECT_GT(refused, kFiles / 10);
  EXPECT_GT(told, kFiles / 10);
}

TEST_F(MutatedResults, ManifestsThatAreNoManifestAreNamedWithTheKey) {
  const auto message = [&](const std::string& text) {
    write(dir_ / "good" / "run.json", text);
    return refusal(dir_ / "good");
  };
  const Json good = read_json(dir_ / "good" / "run.json");
  const auto with = [&](const std::string& pointer, const Json& value) {
    Json changed = good;
    changed[Json::json_pointer(pointer)] = value;
    return message(changed.dump());
  };
  for (const char* text : {"null", "[]", "7", "\"text\""})
    EXPECT_NE(message(text).find("run.json: the file must be a JSON object"), std::string::npos)
        << text << ": " << message(text);
  EXPECT_NE(message(R"({"a": 1})").find("settings is missing"), std::string::npos);
  for (const char* name : {"../../escaped", "/tmp/escaped", "a/b", "", ".hidden", "-o"})
    EXPECT_NE(with("/plots/0/name", name).find("plots.0.name"), std::string::npos) << name;
  EXPECT_NE(with("/plots/0/family", "pie").find("Known: lines"), std::string::npos)
      << with("/plots/0/family", "pie");
  EXPECT_NE(with("/plots/0/x", "promt_tokens").find("did you mean \"prompt_tokens\""),
            std::string::npos);
  EXPECT_NE(with("/plots/1/title", "{promt_tokens}").find("did you mean \"prompt_tokens\""),
            std::string::npos);
  EXPECT_NE(with("/settings/axes/prompt_tokens", 7).find("settings.axes.prompt_tokens"),
            std::string::npos);
  EXPECT_NE(with("/metrics", Json::array()).find("at least one metric"), std::string::npos);
  EXPECT_EQ(message(good.dump()), "");
}

}  // namespace
}  // namespace reprise::app
