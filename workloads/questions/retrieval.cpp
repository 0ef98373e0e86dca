// Makes retrieval items: any number of lines or topics, the same on every machine for a given seed.
#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "workloads/questions/longeval.h"

namespace reprise::workloads::questions {
namespace {

constexpr auto kAdjectives = std::to_array<const char*>(
    {"amber",  "ancient", "bent",   "blue",   "brave",  "bright", "broad",  "calm",
     "clear",  "clever",  "cold",   "crisp",  "curved", "damp",   "dark",   "deep",
     "dry",    "early",   "faint",  "fast",   "firm",   "flat",   "gentle", "gold",
     "grand",  "green",   "grey",   "hollow", "humble", "idle",   "keen",   "late",
     "light",  "little",  "long",   "loud",   "mild",   "narrow", "neat",   "new",
     "noisy",  "odd",     "old",    "pale",   "plain",  "proud",  "quick",  "quiet",
     "rapid",  "red",     "rough",  "round",  "sharp",  "short",  "silent", "silver",
     "simple", "slow",    "smooth", "soft",   "steep",  "tall",   "warm",   "wide"});
constexpr auto kNouns = std::to_array<const char*>(
    {"anchor", "apple",  "arrow",  "barn",   "basket", "beach",   "bell",   "bottle",
     "branch", "bridge", "bucket", "button", "candle", "canoe",   "castle", "chair",
     "cloud",  "coin",   "corner", "desk",   "door",   "drum",    "engine", "feather",
     "fence",  "field",  "flag",   "forest", "garden", "gate",    "glass",  "hammer",
     "harbor", "hill",   "island", "kettle", "key",    "ladder",  "lake",   "lamp",
     "map",    "market", "mirror", "motor",  "needle", "orchard", "paddle", "paper",
     "pencil", "pillow", "river",  "road",   "rope",   "saddle",  "shell",  "spoon",
     "stone",  "table",  "ticket", "tower",  "train",  "valley",  "window", "wheel"});
constexpr auto kAspects =
    std::to_array<const char*>({"the history of", "the cost of", "the future of", "the beauty of",
                                "the care of", "the uses of", "the science of", "the design of",
                                "the noise of", "the makers of", "the trade in", "the smell of"});
constexpr auto kThings = std::to_array<const char*>(
    {"bridges", "bicycles", "bread",  "clocks",      "dams", "deserts", "ferries", "glaciers",
     "harbors", "honey",    "kites",  "lighthouses", "maps", "markets", "mills",   "orchards",
     "paper",   "pianos",   "rivers", "roofs",       "salt", "sails",   "tea",     "tunnels"});
constexpr auto kQuestions = std::to_array<const char*>(
    {"What should I know about it first?", "Who works on it today?", "What is hard about it?",
     "How did it begin?", "What do people get wrong about it?", "Where can I see it?"});
constexpr auto kReplies = std::to_array<const char*>(
    {"Much of it is older than most people think, and little of it was planned.",
     "A few people in each town do, and they learn it from each other.",
     "Weather, money and patience, in this order.",
     "By chance, says every book about it, and then by hard work.",
     "That it is simple. Look closely, and each part has a reason.",
     "Nearly everywhere, once you have learned to look for it."});

// The random streams of an item.
enum Stream : uint64_t { kOrder, kNumbers, kAsked, kTurns };

class Draw {
 public:
  Draw(uint64_t seed, int64_t item, Stream stream)
      : seed_(mix_bits(seed) ^ stream), item_(static_cast<uint64_t>(item)) {}
  // Uniform in [0, count).
  size_t below(size_t count) { return random_bits(seed_, item_, next_++) % count; }

 private:
  uint64_t seed_, item_, next_ = 0;
};

// Returns `count` different numbers of [0, most) in the order they were drawn.
std::vector<size_t> draw_different(Draw draw, size_t count, size_t most) {
  std::vector<size_t> all(most);
  for (size_t i = 0; i < most; ++i) all[i] = i;
  for (size_t i = 0; i < count; ++i) std::swap(all[i], all[i + draw.below(most - i)]);
  all.resize(count);
  return all;
}

void check(const RetrievalOptions& options, size_t most, const char* of_what) {
  REPRISE_CHECK(options.items >= 0 && options.documents >= 1 && options.turns >= 1,
                "{} items of {} documents", options.items, options.documents);
  if (options.documents > static_cast<int64_t>(most))
    raise("{} {} for an item, and there are names for {}; ask for fewer", options.documents,
          of_what, most);
}

Item make_lines_item(const RetrievalOptions& options, int64_t index) {
  constexpr size_t kLargest = 50'000;
  Item item{.id = fmt::format("lines-{}", index + 1),
            .task = "lines",
            .preamble =
                "Here is a record of lines. Each line has a name and a number in angle brackets. "
                "Remember the number of every line: I shall ask for one of them.\n\n",
            .judgement = Judgement::kLastNumber,
            .most_answer_tokens = 100};
  const auto count = static_cast<size_t>(options.documents);
  Draw numbers(options.seed, index, kNumbers);
  std::vector<std::pair<std::string, size_t>> lines;
  for (const size_t name :
       draw_different(Draw(options.seed, index, kOrder), count, kAdjectives.size() * kNouns.size()))
    lines.emplace_back(
        fmt::format("{}-{}", kAdjectives[name / kNouns.size()], kNouns[name % kNouns.size()]),
        1 + numbers.below(kLargest));
  for (const auto& [name, number] : lines)
    item.documents.push_back(fmt::format("line {}: REGISTER_CONTENT is <{}>\n", name, number));
  const auto& [name, number] = lines[Draw(options.seed, index, kAsked).below(count)];
  item.question =
      fmt::format("That was the record. Which number stands in line {}? The number is", name);
  item.answers = {std::to_string(number)};
  return item;
}

std::string conversation(const std::string& topic, int64_t turns, Draw& draw) {
  std::string text = fmt::format(
      "USER: I would like to discuss the topic of {}.\nASSISTANT: Gladly. Ask me about {}.\n",
      topic, topic);
  for (int64_t turn = 1; turn < turns; ++turn)
    text += fmt::format("USER: {}\nASSISTANT: {}\n", kQuestions[draw.below(kQuestions.size())],
                        kReplies[draw.below(kReplies.size())]);
  return text;
}

Item make_topics_item(const RetrievalOptions& options, int64_t index) {
  Item item{.id = fmt::format("topics-{}", index + 1),
            .task = "topics",
            .preamble = fmt::format(
                "Here is a record of {} conversations between USER and ASSISTANT, each on a topic "
                "of its own, which USER names at its beginning. Remember the topics: I shall ask "
                "for the first.\n\n",
                options.documents),
            .question = "That was the record. The topic of the first conversation was",
            .judgement = Judgement::kContains,
            .most_answer_tokens = 50};
  Draw turns(options.seed, index, kTurns);
  for (const size_t topic :
       draw_different(Draw(options.seed, index, kOrder), static_cast<size_t>(options.documents),
                      kAspects.size() * kThings.size())) {
    const std::string name =
        fmt::format("{} {}", kAspects[topic / kThings.size()], kThings[topic % kThings.size()]);
    if (item.answers.empty()) item.answers = {name};
    item.documents.push_back(conversation(name, options.turns, turns));
  }
  return item;
}

}  // namespace

std::vector<Item> make_line_retrieval(const RetrievalOptions& options) {
  check(options, kAdjectives.size() * kNouns.size(), "lines");
  std::vector<Item> items;
  for (int64_t i = 0; i < options.items; ++i) items.push_back(make_lines_item(options, i));
  return items;
}

std::vector<Item> make_topic_retrieval(const RetrievalOptions& options) {
  check(options, kAspects.size() * kThings.size(), "topics");
  std::vector<Item> items;
  for (int64_t i = 0; i < options.items; ++i) items.push_back(make_topics_item(options, i));
  return items;
}

}  // namespace reprise::workloads::questions
