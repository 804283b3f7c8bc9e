// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <memory>
#include <type_traits>
#include <vector>

#include "probust/base/error.h"

namespace probust {
namespace {

Result<std::vector<int>> three() { return std::vector<int>{1, 2, 3}; }

static_assert(std::is_same_v<decltype(three().value()), std::vector<int>>, "a loop over f().value() must not dangle");
static_assert(std::is_same_v<decltype(*three()), std::vector<int>>);
static_assert(std::is_same_v<decltype(std::declval<Result<int>&>().value()), int&>);
static_assert(std::is_same_v<decltype(std::declval<const Result<int>&>().value()), const int&>);

TEST(Result, ALoopOverTheValueOfATemporarySeesIt) {
  std::vector<int> seen;
  for (const int each : three().value()) seen.push_back(each);
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
}

TEST(Result, WhatOnlyMovesIsMovedOut) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  EXPECT_EQ(*result.value(), 7);
  const std::unique_ptr<int> out = std::move(result).value();
  EXPECT_EQ(*out, 7);
}

TEST(Result, WithoutAValueItsErrorIsThrown) {
  EXPECT_THROW((void)Result<int>(Error{ErrorCode::usage, "here", "is wrong", ""}).value(), Error);
}

}  // namespace
}  // namespace probust
