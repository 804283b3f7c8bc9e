// SPDX-License-Identifier: MIT
//
// Test reports in JUnit's XML format, which Jenkins, GitLab and the test reporters for GitHub can read.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace probust::cli {

struct JunitCase {
  std::string classname, name;
  double seconds = 0;
  std::string failure{};  ///< one line; empty if the case passed
  std::string details{};  ///< text of the failure
};

struct JunitSuite {
  std::string name;
  std::vector<JunitCase> cases;
};

/// The content of the file: <testsuites> with one <testsuite> per suite, counts, and times in seconds. Texts are escaped.
std::string junit_xml(const std::string& name, const std::vector<JunitSuite>& suites,
                      std::chrono::system_clock::time_point started);

}  // namespace probust::cli
