// Runs `reprise load` as a user does, without a server: what it refuses, and with which message.
#include <gtest/gtest.h>

#include "tests/app/command_line.h"

namespace reprise::app {
namespace {

class LoadCommand : public CommandLine {};

TEST_F(LoadCommand, RefusesWhatIsNoServerAndNoExperiment) {
  expect_refused({"load", "127.0.0.1:8000", "quickstart"}, {"127.0.0.1:8000", "http://HOST:PORT"});
  expect_refused({"load", "http://127.0.0.1:99999", "quickstart"}, {"1 to 65535"});
  expect_refused({"load", "http://127.0.0.1:9"}, {"experiment"});
  expect_refused({"load", "http://127.0.0.1:9", "quickstrat"}, {"quickstart"});
  expect_refused({"load", "http://127.0.0.1:9", "quickstart", "--name", "a/b"}, {"a/b"});
  expect_refused({"load", "http://127.0.0.1:9", "quickstart", "--connections", "0"},
                 {"--connections", "1"});
  expect_refused({"load", "http://127.0.0.1:9", "quickstart", "--reuse", "all", "--nonce", "5"},
                 {"--nonce", "--reuse all"});
}

// --beside once took the arguments behind its value as further servers.
TEST_F(LoadCommand, AnotherServerMayStandBeforeTheFirst) {
  expect_refused({"load", "--beside", "a=http://127.0.0.1:9", "--beside", "b=nowhere",
                  "http://127.0.0.1:9", "serving/tree", "--scale", "smoke"},
                 {"nowhere", "http://HOST:PORT"});
}

TEST_F(LoadCommand, RefusesKindsThatAskNoServerAnything) {
  expect_refused({"load", "http://127.0.0.1:9", "quickstart"}, {"kind \"ttft\"", "\"serving\""});
}

}  // namespace
}  // namespace reprise::app
