// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "probust/base/error.h"

namespace probust::test {

/// Expects that `body` throws an Error with this code.
inline void expect_refusal(ErrorCode code, const std::function<void()>& body) {
  try {
    body();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, code) << error.message();
  }
}

/// The message of the Error that `body` throws; empty if it throws none.
inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

}  // namespace probust::test
