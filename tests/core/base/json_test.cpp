#include "core/base/json.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"

namespace reprise {
namespace {

using model::expect_error;
using model::TempDir;

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

TEST(ParseJson, NestingIsBounded) {
  EXPECT_NO_THROW(parse_json(nested(200), "deep.json"));
  expect_error([] { parse_json(nested(202), "deep.json"); }, {"deep.json", "nested deeper", "200"});
  // If this value were built, its recursive destructor would overflow the stack.
  expect_error([] { parse_json(std::string(1000000, '['), "deep.json"); }, {"nested deeper"});
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  expect_error([&] { parse_json(objects, "deep.json"); }, {"nested deeper"});
}

TEST(ParseJson, DuplicateKeysAreErrorsWithinOneObjectOnly) {
  expect_error([] { parse_json(R"({"rate": 1, "x": {"rate": 2}, "rate": 3})", "a.json"); },
               {"a.json", "\"rate\"", "twice"});
  expect_error([] { parse_json(R"({"x": [{"y": 1, "y": 1}]})", "a.json"); }, {"\"y\"", "twice"});
  EXPECT_NO_THROW(parse_json(R"({"a": {"b": 1}, "b": {"a": 1}, "c": [{"a": 1}, {"a": 2}]})", "a"));
}

TEST(ParseJson, MalformedTextIsAnErrorThatNamesTheSource) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[1,]",
                           "{\"a\":}",
                           "{'a': 1}",
                           "{\"a\": 1} x",
                           "nul",
                           "01",
                           "1e999",
                           "{\"a\": NaN}",
                           "{\"a\": Infinity}",
                           "// comment\n{}",
                           "\"\xff\"",
                           "\"\\ud800\"",
                           "\"\n\"",
                           "{\"a\" 1}",
                           "[1 2]",
                           "\"unfinished"})
    expect_error([&] { parse_json(text, "bad.json"); }, {"bad.json"});
  EXPECT_THROW((void)parse_json(std::string_view("{}\0 {", 5), "nul.json"), Error);
}

TEST(ParseJson, FaultsOfTheSyntaxAreToldWithoutTheLibrarysName) {
  try {
    (void)parse_json("{\"a\": 1,}", "bad.json");
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("bad.json is not valid JSON: parse error at line 1")) << text;
    EXPECT_EQ(text.find("json.exception"), std::string::npos) << text;
  }
}

TEST(ParseJson, ReadsWhatAnotherParserReads) {
  const char* text =
      R"({"": [], "a": [1, -1, 18446744073709551615, 1.5, 4.0, 1e300, true, null, "\u00e9\n"],)"
      R"( "b": {"c": {}, "d": [[[]], {"e": [{"f": false}, {}]}]}, "z": "last"})";
  EXPECT_EQ(json_of(parse_json(text, "a")), Json::parse(text));
}

TEST(JsonText, IsAsAnotherWriterWritesIt) {
  const Json json = {
      {"empty", Json::array()},
      {"none", Json::object()},
      {"nested", {{"list", {1, 2.5, -3, {{"deep", nullptr}}, true}}, {"x", "é\"\n"}}},
      {"numbers", {0.1, 1e-7, 4.0, 18446744073709551615u, -9223372036854775807}}};
  const Value value = value_of(json);
  EXPECT_EQ(json_text(value), json.dump());
  for (const int indent : {0, 1, 2}) EXPECT_EQ(json_text(value, indent), json.dump(indent));
  EXPECT_EQ(json_text(value.fields(), 2), json.dump(2));
  EXPECT_EQ(json_text("a\xff"), "\"a\xef\xbf\xbd\"") << "what is no UTF-8 is replaced";
}

TEST(ReadFile, NamesThePathOfWhatCannotBeRead) {
  const TempDir dir;
  expect_error([&] { read_file(dir.path() / "absent.json"); },
               {(dir.path() / "absent.json").string(), "No such file"});
  expect_error([&] { read_file(dir.path()); }, {dir.path().string(), "folder"});
  dir.write("big", std::string(5000, 'x'));
  expect_error([&] { read_file(dir.path() / "big", 4999); }, {"big", "4999"});
  EXPECT_EQ(read_file(dir.path() / "big", 5000).size(), 5000u);
  dir.write("empty", "");
  EXPECT_EQ(read_file(dir.path() / "empty"), "");
  expect_error([&] { read_json(dir.path() / "empty"); }, {"empty", "not valid JSON"});
}

TEST(JsonObject, TypesAreCheckedAndErrorsNameTheKey) {
  const Value json = parse_json(
      R"({"n": 3, "f": 2.5, "whole": 32.0, "big": 18446744073709551615, "huge": 1e300, "s": "x",
          "b": true, "null": null, "list": [1, 2], "mixed": [1, "a"], "o": {"k": 1}})",
      "c.json");
  JsonObject object(json, "c.json");
  EXPECT_EQ(object.integer("n"), 3);
  EXPECT_EQ(object.integer("whole"), 32);
  EXPECT_EQ(object.number("f"), 2.5);
  EXPECT_EQ(object.number("n"), 3.0);
  EXPECT_EQ(object.string("s"), "x");
  EXPECT_TRUE(object.boolean("b", false));
  EXPECT_EQ(object.integers("list"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(object.object("o").integer("k"), 1);
  expect_error([&] { (void)object.integer("f"); }, {"c.json", "\"f\"", "2.5"});
  expect_error([&] { (void)object.integer("big"); }, {"\"big\"", "too large"});
  expect_error([&] { (void)object.integer("huge"); }, {"\"huge\"", "too large"});
  expect_error([&] { (void)object.integer("s"); }, {"\"s\"", "whole number"});
  expect_error([&] { (void)object.integer("b"); }, {"\"b\""});
  expect_error([&] { (void)object.number("s"); }, {"\"s\"", "number"});
  expect_error([&] { (void)object.string("n"); }, {"\"n\"", "string"});
  expect_error([&] { (void)object.boolean("n", false); }, {"\"n\"", "true or false"});
  expect_error([&] { (void)object.integers("mixed"); }, {"\"mixed\"", "whole numbers"});
  expect_error([&] { (void)object.integers("n"); }, {"\"n\"", "list"});
  expect_error([&] { (void)object.object("n"); }, {"c.json", "\"n\"", "object"});
  expect_error([&] { (void)object.integer("absent"); }, {"\"absent\"", "missing"});
  expect_error([&] { (void)object.integer("null"); }, {"\"null\"", "missing"});
  expect_error([&] { (void)object.object("o").string("k"); }, {"\"o.k\""});
  expect_error([&] { (void)object.integer_in("n", 4, 9); }, {"\"n\"", "3", "4", "9"});
}

TEST(JsonObject, FallbacksServeAbsentAndNullKeysOnly) {
  const Value json = parse_json(R"({"n": 3, "null": null, "wrong": "x"})", "c.json");
  JsonObject object(json, "c.json");
  EXPECT_EQ(object.integer("n", 7), 3);
  EXPECT_EQ(object.integer("absent", 7), 7);
  EXPECT_EQ(object.integer("null", 7), 7);
  EXPECT_EQ(object.number("absent", 0.5), 0.5);
  EXPECT_EQ(object.string("absent", "y"), "y");
  EXPECT_TRUE(object.boolean("null", true));
  EXPECT_THROW((void)object.integer("wrong", 7), Error);
}

// An item of a list that is 2^63 or more must be refused, not turned negative.
TEST(JsonObject, IntegersOfAListAreCheckedLikeSingleOnes) {
  const Value json = parse_json(R"({"ids": [1, 18446744073709551615]})", "c.json");
  JsonObject object(json, "c.json");
  expect_error([&] { (void)object.integers("ids"); }, {"\"ids\"", "18446744073709551615"});
}

TEST(JsonObject, UnknownKeysAreErrorsThatSuggestTheNearest) {
  const Value json = parse_json(R"({"arival_rps": 3})", "e.json");
  JsonObject object(json, "e.json");
  (void)object.has("arrival_rps");
  object.allow({"comment"});
  expect_error([&] { object.reject_unknown(); },
               {"e.json", "\"arival_rps\"", "did you mean \"arrival_rps\"?", "comment"});
}

TEST(JsonObject, UnknownKeysOfNestedObjectsAreSuggestedTooWithTheirPath) {
  const Value json = parse_json(R"({"load": {"rate": {"arival_rps": 3}}})", "e.json");
  JsonObject object(json, "e.json");
  JsonObject inner = object.object("load").object("rate");
  (void)inner.has("arrival_rps");
  expect_error([&] { inner.reject_unknown(); },
               {"e.json", "load.rate", "arival_rps", "did you mean \"arrival_rps\"?"});
  EXPECT_NO_THROW(object.reject_unknown());
}

TEST(JsonObject, NeedsAnObject) {
  const Value json = parse_json("[1]", "list.json");
  expect_error([&] { JsonObject(json, "list.json"); }, {"list.json", "object", "array"});
}

}  // namespace
}  // namespace reprise
