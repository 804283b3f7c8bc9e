// SPDX-License-Identifier: MIT
// Uses only elements and attributes that are both in the schema of Jenkins (xunit plugin) and in that of Apache Ant.
#include "cli/output/junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/clock.h"
#include "probust/base/error.h"
#include "report/plot.h"

namespace probust::cli {
namespace {

std::string attribute(const char* name, const std::string& value) {
  return fmt::format(" {}=\"{}\"", name, report::escaped(value));
}

std::string seconds_text(double seconds) { return fmt::format("{:.6f}", seconds); }

double seconds_of(const JunitSuite& suite) {
  double sum = 0;
  for (const JunitCase& one : suite.cases) sum += one.seconds;
  return sum;
}

std::int64_t failures_of(const JunitSuite& suite) {
  return std::count_if(suite.cases.begin(), suite.cases.end(), [](const JunitCase& one) { return !one.failure.empty(); });
}

std::string counts(std::int64_t tests, std::int64_t failures, double seconds) {
  return fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{}\"", tests, failures, seconds_text(seconds));
}

std::string case_xml(const JunitCase& one) {
  std::string xml = "    <testcase" + attribute("classname", one.classname) + attribute("name", one.name) +
                    attribute("time", seconds_text(one.seconds));
  if (one.failure.empty()) return xml + "/>\n";
  return xml + ">\n      <failure" + attribute("message", one.failure) + attribute("type", "threshold") + ">" +
         report::escaped(one.details) + "</failure>\n    </testcase>\n";
}

}  // namespace

std::string junit_xml(const std::string& name, const std::vector<JunitSuite>& suites,
                      std::chrono::system_clock::time_point started) {
  const std::string timestamp = utc_text("%Y-%m-%dT%H:%M:%S", std::chrono::system_clock::to_time_t(started));
  std::int64_t tests = 0, failures = 0;
  double seconds = 0;
  std::string body;
  for (const JunitSuite& suite : suites) {
    const std::int64_t own = std::ssize(suite.cases), failed = failures_of(suite);
    body += "  <testsuite" + attribute("name", suite.name) + counts(own, failed, seconds_of(suite)) +
            attribute("timestamp", timestamp) + ">\n";
    for (const JunitCase& one : suite.cases) body += case_xml(one);
    body += "  </testsuite>\n";
    tests += own;
    failures += failed;
    seconds += seconds_of(suite);
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + attribute("name", name) + counts(tests, failures, seconds) +
         ">\n" + body + "</testsuites>\n";
}

}  // namespace probust::cli
