// Tests requests that are drawn from a client's statistics: rates, shapes of gaps and lengths are
// as recorded.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/support/data.h"
#include "tests/workloads/serving/sample_sources.h"
#include "workloads/serving/length_histogram.h"

namespace reprise::workloads {
namespace {

using model::expect_error;
using model::TempDir;

std::unique_ptr<RequestSource> make(SourceOptions options) {
  options.vocab = 100;
  return make_request_source("servegen", options);
}

std::filesystem::path client(const TempDir& dir, const std::string& trace,
                             const std::string& lengths = kServeGenLengths) {
  dir.write("c-dataset.json", lengths);
  return dir.write("c-trace.csv", trace);
}

constexpr const char* kConstantLengths =
    R"({"0": {"input_tokens": "{4: 1}", "output_tokens": "{1: 1}"}})";

// A renewal process with coefficient of variation c has about rate * t events in time t, with
// variance c^2 * rate * t.
TEST(ServeGen, RequestsComeAtTheRateOfEachWindow) {
  const TempDir dir;
  const auto file = client(dir,
                           "0,30,1.2,Gamma,0.7,0.5\n600,0,0,,0,0\n1200,5,2,Weibull,0.6,0.9\n"
                           "1800,12,0.5,Gamma,4,0\n",
                           kConstantLengths);
  for (const uint64_t seed : {1u, 2u, 3u}) {
    const auto source = make({.file = file, .arrivals_seed = seed, .window_s = 2400});
    std::vector<int64_t> counts(4, 0);
    for (const double time_s : source->arrivals_s()) ++counts.at(static_cast<size_t>(time_s / 600));
    const double weibull_cv =
        std::sqrt(std::tgamma(1 + 2 / 0.6) / std::pow(std::tgamma(1 + 1 / 0.6), 2) - 1);
    const std::vector<double> rates = {30, 0, 5, 12},
                              cvs = {1 / std::sqrt(0.7), 0, weibull_cv, 0.5};
    for (size_t window = 0; window < 4; ++window)
      EXPECT_NEAR(static_cast<double>(counts[window]), 600 * rates[window],
                  5 * cvs[window] * std::sqrt(600 * rates[window]))
          << window << " seed " << seed;
  }
}

// A gap continues across the end of a window, so a window that is cut in two brings the same
// requests.
TEST(ServeGen, WindowsOfOneRateAreOne) {
  const TempDir dir;
  const std::string same = ",0.05,2,Weibull,0.6,0.9\n", silent = "1800,0,0,,0,0\n";
  const auto times_of = [&](const std::string& trace) {
    return make({.file = client(dir, trace, kConstantLengths), .window_s = 2400})->arrivals_s();
  };
  const std::vector<double> whole = times_of("0" + same + silent);
  const std::vector<double> parts =
      times_of("0" + same + "7" + same + "300" + same + "310" + same + "1799" + same + silent);
  ASSERT_EQ(parts.size(), whole.size());
  ASSERT_GT(whole.size(), 40u);
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(parts[i], whole[i], 1e-9);
}

// P(gap > x) of a Weibull variable is exp(-(x / scale)^shape).
TEST(ServeGen, GapsHaveTheRecordedShape) {
  const TempDir dir;
  const auto file = client(dir, "0,10,3,Weibull,0.5,0.1\n", kConstantLengths);
  const std::vector<double> times = make({.file = file, .window_s = 600})->arrivals_s();
  const auto gaps = static_cast<double>(times.size() - 1);
  const double scale = 0.1 / std::tgamma(1 + 1 / 0.5);
  for (const double x : {0.001, 0.01, 0.1, 0.5}) {
    double above = 0;
    for (size_t i = 1; i < times.size(); ++i) above += times[i] - times[i - 1] > x ? 1 : 0;
    const double expected = std::exp(-std::sqrt(x / scale));
    EXPECT_NEAR(above / gaps, expected, 5 * std::sqrt(expected * (1 - expected) / gaps)) << x;
  }
}

TEST(ServeGen, LengthsAreThoseOfTheirWindow) {
  const TempDir dir;
  const auto source =
      make({.file = client(dir, "0,5,1,Gamma,1,1\n600,0,0,,0,0\n1200,5,1,Gamma,1,1\n"),
            .window_s = 1800});
  const std::vector<double> times = source->arrivals_s();
  std::map<int64_t, double> early, late;
  double n_early = 0;
  for (int64_t i = 0; i < source->size(); ++i) {
    const bool is_early = times[static_cast<size_t>(i)] < 1200;
    n_early += is_early ? 1 : 0;
    (is_early ? early : late)[source->lengths(i).prompt] += 1;
    EXPECT_EQ(source->lengths(i).output == 1, is_early);
  }
  EXPECT_EQ(late.size(), 1u);
  EXPECT_GT(late[7], 0);
  EXPECT_EQ(early.size(), 3u);
  for (const auto& [tokens, share] : {std::pair{4, 0.5}, {9, 0.25}, {30, 0.25}})
    EXPECT_NEAR(early[tokens] / n_early, share, 5 * std::sqrt(share * (1 - share) / n_early));
}

// Times count from the window's start. With a larger number of requests, the earlier ones stay the
// same.
TEST(ServeGen, WindowsAndCountsEndARun) {
  const TempDir dir;
  const auto file = client(dir, kServeGenTrace);
  const auto few = make({.file = file, .requests = 20, .window_start_s = 300});
  const auto more = make({.file = file, .requests = 50, .window_start_s = 300});
  ASSERT_EQ(few->size(), 20);
  ASSERT_EQ(more->size(), 50);
  for (int64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(few->arrivals_s()[static_cast<size_t>(i)],
              more->arrivals_s()[static_cast<size_t>(i)]);
    EXPECT_EQ(few->request(i).prompt, more->request(i).prompt);
  }
  EXPECT_LT(few->arrivals_s().front(), 10);
  // The window without requests gives none; the whole trace gives at most all of its requests.
  expect_error([&] { (void)make({.file = file, .window_start_s = 600, .window_s = 600}); },
               {"no request is left"});
  EXPECT_LT(make({.file = file, .requests = 1'000'000})->arrivals_s().back(), 1800);
}

TEST(ServeGen, TooLongOnesAreDroppedAndOthersDrawn) {
  const TempDir dir;
  const auto source =
      make({.file = client(dir, "0,5,1,Gamma,1,1\n"), .requests = 100, .most_prompt_tokens = 9});
  EXPECT_EQ(source->size(), 100);
  EXPECT_GT(source->dropped().too_long, 5);
  for (int64_t i = 0; i < 100; ++i) EXPECT_LE(source->lengths(i).prompt, 9);
}

TEST(ServeGen, NamesFileAndPlaceOfWhatIsWrong) {
  const TempDir dir;
  const auto refused = [&](const std::string& trace, const std::string& lengths,
                           std::initializer_list<std::string> parts) {
    expect_error([&] { (void)make({.file = client(dir, trace, lengths), .requests = 3}); }, parts);
  };
  const std::string good = "0,5,1,Gamma,1,1\n";
  refused("", kServeGenLengths, {"c-trace.csv", "empty"});
  refused(good + "0,5,1,Gamma,1,1\n", kServeGenLengths, {"c-trace.csv:2", "not after"});
  refused("0,-5,1,Gamma,1,1\n", kServeGenLengths, {"c-trace.csv:1", "the rate is \"-5\""});
  refused("0,nan,1,Gamma,1,1\n", kServeGenLengths, {"c-trace.csv:1", "nan"});
  refused("0,5,1,Gama,1,1\n", kServeGenLengths, {"c-trace.csv:1", "did you mean \"Gamma\""});
  refused("0,5,1,Gamma,0,1\n", kServeGenLengths, {"c-trace.csv:1", "shape is 0"});
  refused("0,5,1,Gamma", kServeGenLengths, {"c-trace.csv:1", "ends before the shape"});
  const auto lengths = [](const std::string& text) {
    return R"({"0": {"input_tokens": ")" + text + R"(", "output_tokens": "{1: 1}"}})";
  };
  for (const char* bad : {"{4: -1}", "{4: nan}", "{4}", "{4: 1", "4: 1", "{-4: 1}", "{4: 1} x", "",
                          "{4: 1 5: 1}", "{99999999999: 1}"})
    refused(good, lengths(bad), {"c-dataset.json", "input_tokens", "must be as"});
  refused(good, lengths("{4: 0.0}"), {"shares add up to 0"});
  refused(good, lengths("{}"), {"c-dataset.json", "has no lengths", "c-trace.csv"});
  refused(good, R"({"600": {"input_tokens": "{4: 1}", "output_tokens": "{4: 1}"}})",
          {"no window tells"});
  refused(good, R"({"noon": {"input_tokens": "{4: 1}", "output_tokens": "{4: 1}"}})",
          {"noon", "start of a window"});
  refused(good, "[]", {"object of windows"});
  refused(good, R"({"0": {"input_tokens": "{4: 1}"}})", {"output_tokens", "missing"});
  expect_error([&] { (void)make({.file = client(dir, good)}); }, {"needs requests or window_s"});
  expect_error(
      [&] { (void)make({.file = client(dir, good), .requests = 1, .window_start_s = 700}); },
      {"window_start_s is 700", "ends at 600"});
  expect_error([&] { (void)make({.file = dir.write("x.csv", good), .requests = 1}); },
               {"NAME-trace.csv"});
}

TEST(ServeGen, ReadsThePublishedClients) {
  REPRISE_NEEDS_DATA();
  const auto folder = testing::data_dir() / "traces" / "servegen";
  for (const char* name : {"language_m-small_chunk-14", "language_m-small_chunk-18",
                           "language_m-small_chunk-27", "reason_deepseek-r1_chunk-48"}) {
    const auto source =
        make({.file = folder / (std::string(name) + "-trace.csv"), .requests = 5000});
    EXPECT_EQ(source->size(), 5000) << name;
  }
  // The recording has 2.533, 2.877 and 3.525 requests a second in its first three windows.
  const auto source =
      make({.file = folder / "reason_deepseek-r1_chunk-48-trace.csv", .window_s = 1800});
  EXPECT_NEAR(static_cast<double>(source->size()), 600 * (2.533 + 2.877 + 3.525), 5 * 74);
  for (int64_t i = 0; i < source->size(); ++i) {
    EXPECT_GE(source->lengths(i).prompt, 246);
    EXPECT_LE(source->lengths(i).prompt, 874);
  }
}

}  // namespace
}  // namespace reprise::workloads
