// Tests the properties that generated retrieval items have for any seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "workloads/questions/longeval.h"

namespace reprise::workloads::questions {
namespace {

// The name and the number that a line holds.
std::pair<std::string, std::string> parts_of(const std::string& line) {
  const size_t colon = line.find(": REGISTER_CONTENT is <"), end = line.find(">\n");
  EXPECT_TRUE(line.starts_with("line ") && colon != line.npos && end == line.size() - 2) << line;
  return {line.substr(5, colon - 5), line.substr(colon + 23, end - colon - 23)};
}

TEST(LineRetrieval, AsksForANumberThatOneLineHas) {
  for (uint64_t seed = 0; seed < 3; ++seed)
    for (const Item& item : make_line_retrieval({.items = 20, .documents = 60, .seed = seed})) {
      ASSERT_EQ(item.documents.size(), 60u);
      std::map<std::string, std::string> numbers;
      for (const std::string& line : item.documents) numbers.insert(parts_of(line));
      EXPECT_EQ(numbers.size(), 60u) << "names are different";
      const size_t at = item.question.find("in line ") + 8;
      const std::string name = item.question.substr(at, item.question.find('?') - at);
      ASSERT_TRUE(numbers.contains(name)) << item.question;
      ASSERT_EQ(item.answers.size(), 1u);
      EXPECT_EQ(numbers[name], item.answers[0]);
      EXPECT_TRUE(is_right(item, " <" + item.answers[0] + ">."));
      const int number = std::stoi(item.answers[0]);
      EXPECT_TRUE(number >= 1 && number <= 50'000) << number;
    }
}

TEST(TopicRetrieval, AsksForTheFirstOfDifferentTopics) {
  for (const Item& item : make_topic_retrieval({.items = 20, .documents = 30, .turns = 3})) {
    ASSERT_EQ(item.documents.size(), 30u);
    std::set<std::string> topics;
    for (const std::string& document : item.documents) {
      EXPECT_TRUE(document.starts_with("USER: I would like to discuss the topic of "));
      EXPECT_TRUE(document.ends_with("\n"));
      EXPECT_EQ(std::count(document.begin(), document.end(), '\n'), 6);
      topics.insert(document.substr(0, document.find('\n')));
    }
    EXPECT_EQ(topics.size(), 30u);
    EXPECT_NE(item.documents[0].find(item.answers[0] + ".\n"), std::string::npos);
    EXPECT_TRUE(is_right(item, " " + item.answers[0] + "."));
  }
}

TEST(Retrieval, ItemsDependOnSeedAndNumberAlone) {
  const auto few = make_line_retrieval({.items = 3, .documents = 10, .seed = 5});
  const auto more = make_line_retrieval({.items = 8, .documents = 10, .seed = 5});
  const auto other = make_line_retrieval({.items = 3, .documents = 10, .seed = 6});
  for (size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].text(), more[i].text());
    EXPECT_NE(few[i].text(), other[i].text());
  }
  EXPECT_NE(more[6].text(), more[7].text());
  const auto topics = make_topic_retrieval({.items = 2, .documents = 4, .seed = 5});
  EXPECT_EQ(topics[1].text(),
            make_topic_retrieval({.items = 9, .documents = 4, .seed = 5})[1].text());
  EXPECT_NE(topics[0].text(), topics[1].text());
}

// Over many items, the lines asked for are spread over the whole record.
TEST(LineRetrieval, AsksForEveryPlace) {
  std::set<size_t> places;
  for (const Item& item : make_line_retrieval({.items = 200, .documents = 8})) {
    const std::string end = "<" + item.answers[0] + ">\n";
    for (size_t i = 0; i < item.documents.size(); ++i)
      if (item.documents[i].ends_with(end)) places.insert(i);
  }
  EXPECT_EQ(places.size(), 8u);
}

TEST(Retrieval, MoreThanThereAreNamesIsRefused) {
  EXPECT_NO_THROW((void)make_line_retrieval({.items = 1, .documents = 4096}));
  model::expect_error([] { (void)make_line_retrieval({.items = 1, .documents = 4097}); },
                      {"4097 lines", "4096"});
  EXPECT_NO_THROW((void)make_topic_retrieval({.items = 1, .documents = 288}));
  model::expect_error([] { (void)make_topic_retrieval({.items = 1, .documents = 289}); },
                      {"289 topics", "288"});
}

}  // namespace
}  // namespace reprise::workloads::questions
