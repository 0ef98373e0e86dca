#include "results/run_validity.h"

#include <gtest/gtest.h>

#include "tests/results/sample_record.h"
#include "tests/support/json.h"

namespace reprise::results {
namespace {

TEST(RunValidity, OfARecordThatNobodyJudgedIsNotDoubted) {
  const RunValidity validity = run_validity(sample_record("p", "g", 0, 1));
  EXPECT_FALSE(validity.is_judged);
  EXPECT_TRUE(validity.is_valid);
}

TEST(RunValidity, TellsTheReasons) {
  Record record = sample_record("p", "g", 0, 1);
  record.answers = {{"verdict", "INVALID"}, {"reasons", Values{"too short", "late"}}};
  EXPECT_TRUE(run_validity(record).is_judged);
  EXPECT_FALSE(run_validity(record).is_valid);
  EXPECT_EQ(run_validity(record).reason, "too short; late");
  EXPECT_EQ(invalid_remark(record.answers), "INVALID: too short; late");
}

TEST(RunValidity, ASpeedupOverAnInvalidRunIsInvalid) {
  std::vector<Record> records = {sample_record("p", "g", 0, 2), sample_record("q", "g", 1, 2),
                                 sample_record("r", "h", 0, 1)};
  for (Record& record : records) {
    record.answers = {{"verdict", "VALID"}};
    record.metrics["throughput_speedup"] = {.value = 2.0, .unit = "ratio"};
  }
  EXPECT_EQ(invalid_speedup_remark(records[1], records), "");
  records[0].answers = {{"verdict", "INVALID"}, {"reasons", Values{"late"}}};
  EXPECT_EQ(invalid_speedup_remark(records[0], records), "");
  EXPECT_EQ(invalid_speedup_remark(records[1], records),
            "INVALID throughput_speedup: the first method's run is INVALID: late");
  EXPECT_FALSE(is_valid_metric(records[1], "throughput_speedup", records));
  EXPECT_TRUE(is_valid_metric(records[1], "ttft_ms", records));
  EXPECT_FALSE(is_valid_metric(records[0], "ttft_ms", records));
  EXPECT_TRUE(is_valid_metric(records[2], "throughput_speedup", records));
  EXPECT_EQ(invalid_speedup_remark(records[2], records), "");
  records[1].answers = records[0].answers;
  EXPECT_EQ(invalid_speedup_remark(records[1], records), "") << "all its numbers are INVALID";
  records[1].metrics.erase("throughput_speedup");
  EXPECT_EQ(invalid_speedup_remark(records[1], records), "");
}

TEST(RunValidity, OnlyTheWordValidIsValid) {
  Record record = sample_record("p", "g", 0, 1);
  record.answers = {{"verdict", "VALID"}};
  EXPECT_TRUE(run_validity(record).is_valid);
  EXPECT_TRUE(run_validity(record).is_judged);
  record.answers = {{"verdict", "valid"}, {"reasons", 7}};
  EXPECT_FALSE(run_validity(record).is_valid);
  EXPECT_EQ(run_validity(record).reason, "no reason is given");
  for (const Value& odd : {Value(7), Value(Values{"VALID"}), Value(), Value(Fields())}) {
    record.answers = {{"verdict", odd}};
    EXPECT_FALSE(run_validity(record).is_judged) << shown(odd);
    EXPECT_EQ(invalid_remark(record.answers), "");
  }
}

TEST(RunValidity, ReservationsAreThoseOfAValidRun) {
  Record record;
  record.answers = {{"verdict", "VALID"}, {"reservations", Values{"few", "grew", 3}}};
  EXPECT_TRUE(run_validity(record).is_valid);
  EXPECT_EQ(run_validity(record).reservations, (std::vector<std::string>{"few", "grew"}));
  EXPECT_EQ(run_reservations(record.answers), run_validity(record).reservations);
  record.answers["verdict"] = "INVALID";
  EXPECT_TRUE(run_reservations(record.answers).empty());
  EXPECT_TRUE(run_reservations({}).empty());
}

}  // namespace
}  // namespace reprise::results
