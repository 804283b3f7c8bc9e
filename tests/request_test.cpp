// SPDX-License-Identifier: MIT
// Requests as texts: targets, groups, budgets, and options that exclude each other.
#include "probust/run/request.h"

#include <gtest/gtest.h>

#include <cmath>

#include "probust/perturb/noise_text.h"
#include "probust/run/run.h"
#include "support/networks.h"

namespace probust {
namespace {

const std::vector<std::string> kNames{"cat", "dog", "2"};

template <class Body>
std::string refusal(const Body& body) {
  try {
    body();
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::usage);
    return error.message();
  }
}

TEST(Request, ClassesHaveNamesAndNumbers) {
  EXPECT_EQ(class_number("dog", kNames), 1);
  EXPECT_EQ(class_number("2", kNames), 2);  // names come first
  EXPECT_EQ(class_number("7", kNames), 7);
  EXPECT_EQ(class_number("bird", kNames), std::nullopt);
}

TEST(Request, TargetsArePredictedLabelledOrGiven) {
  const Tensor logits({2, 3}, {0, 1, 0, 5, 1, 0});
  const std::vector<std::int64_t> labels{2, 1};
  using Classes = std::vector<std::int64_t>;
  EXPECT_EQ(targets_of("predicted", labels, logits, kNames), (Classes{1, 0}));
  EXPECT_EQ(targets_of("label", labels, logits, kNames), labels);
  EXPECT_EQ(targets_of("dog", {}, logits, kNames), (Classes{1, 1}));
  EXPECT_EQ(targets_of("0", {}, logits, {}), (Classes{0, 0}));
  EXPECT_NE(refusal([&] { targets_of("label", {}, logits, kNames); }).find("do not have"), std::string::npos);
  EXPECT_NE(refusal([&] { targets_of("bird", {}, logits, kNames); }).find("or a class name"), std::string::npos);
  EXPECT_NE(refusal([&] { targets_of("3", {}, logits, {}); }).find("class 3, which does not exist"), std::string::npos);
  EXPECT_NE(refusal([&] { targets_of("label", Classes{0, 3}, logits, {}); }).find("class 3"), std::string::npos);
}

TEST(Request, GroupsAreListsOfClasses) {
  const Event event = event_of(split_groups("dog,cat/2"), true, 1, 4, kNames);
  EXPECT_EQ(event.group, (std::vector<std::int64_t>{1, 1, 2, 3}));
  EXPECT_TRUE(event.per_class);
  EXPECT_TRUE(event_of({}, false, 1, 4, {}).plain());
  for (const char* wrong : {"0,4", "0,0", "0/0", "bird", "0,,1"})
    EXPECT_NE(refusal([&] { event_of(split_groups(wrong), false, 1, 4, kNames); }).find("groups"), std::string::npos) << wrong;
  for (const std::int64_t top : {0, 5})
    EXPECT_NE(refusal([&] { event_of({}, false, top, 4, {}); }).find("top"), std::string::npos);
  EXPECT_NE(refusal([&] { event_of(split_groups("0,1"), false, 2, 4, {}); }).find("cannot be combined"), std::string::npos);
}

TEST(Request, BudgetsNeedAutoAndSharingNeedsModelsOfMargins) {
  const auto texts = [](std::vector<std::string> given, const AutoBudget& budget) {
    std::vector<std::string> all;
    for (const EstimatorSpec& estimator : parse_estimators(std::move(given), budget)) all.push_back(estimator.text());
    return all;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts({"taylor", "auto"}, {80.7}), (Texts{"taylor", "auto:80"}));
  EXPECT_EQ(texts({"auto:60", "mc:10"}, {{}, {}, true}), (Texts{"auto:60:independent", "mc:10"}));
  EXPECT_EQ(texts({"auto:60", "mc:10", "probit:9"}, {.share = "none"}), (Texts{"auto:60:independent", "mc:10", "probit:9"}));
  EXPECT_EQ(texts({"auto:60", "probit:9", "regression:20", "probit:8:learned"}, {.share = "pooled"}),
            (Texts{"auto:60", "probit:9:pooled", "regression:20:pooled", "probit:8:learned"}));
  EXPECT_EQ(texts({"auto:60", "probit:9", "regression:20", "regression:20:adf"}, {.share = "draws"}),
            (Texts{"auto:60", "probit:9:shared", "regression:20:learned", "regression:20:adf"}));
  EXPECT_EQ(texts({"probit:9"}, {.share = "learned"}), (Texts{"probit:9:learned"}));
  EXPECT_NE(refusal([&] { texts({"regression:20"}, {.share = "learned"}); }).find("none, pooled, or draws"), std::string::npos);
  EXPECT_NE(refusal([&] { texts({"probit:7"}, {.share = "draws"}); }).find("at least 8"), std::string::npos);
  EXPECT_NE(refusal([&] { texts({"auto", "mc:9"}, {.share = "pooled"}); }).find("none of the estimators"), std::string::npos);
  EXPECT_EQ(texts({"auto:60", "mc:9"}, {.independent = true, .share = "none"}), (Texts{"auto:60:independent", "mc:9"}));
  EXPECT_EQ(texts({"mc:9"}, {.share = "none"}), (Texts{"mc:9"}));
  EXPECT_NE(refusal([&] { texts({"auto"}, {.independent = true, .share = "draws"}); }).find("independent"), std::string::npos);
  EXPECT_NE(refusal([&] { texts({"auto"}, {.total = 500, .share = "draws"}); }).find("total_budget"), std::string::npos);
  EXPECT_NE(refusal([&] { texts({"probit:9"}, {.share = "much"}); }).find("cannot be 'much'"), std::string::npos);
  EXPECT_EQ(texts({}, {50}), (Texts{"auto:50"}));
  EXPECT_NE(refusal([&] { texts({"mc:10"}, {50}); }).find("needs auto"), std::string::npos);
  EXPECT_NE(refusal([&] { texts({"mc:10"}, {{}, 50}); }).find("needs auto"), std::string::npos);
  EXPECT_NE(refusal([&] { texts({"auto"}, {50, 50}); }).find("cannot be combined"), std::string::npos);
  EXPECT_NE(refusal([&] { texts({"auto", "auto:60"}, {{}, 50}); }).find("exactly once"), std::string::npos);
  for (const double wrong : {1.0, -5.0, std::nan(""), HUGE_VAL})
    EXPECT_NE(refusal([&] { texts({"auto"}, {wrong}); }).find("is not a number, or is less than 2"), std::string::npos);
}

TEST(Request, SomeOptionsExcludeEachOther) {
  const std::vector<EstimatorSpec> counts{parse_estimator("mc:10")}, models{parse_estimator("probit:10")};
  EXPECT_NE(refusal([&] { require_combinable({100, true, false}, counts); }).find("smooth"), std::string::npos);
  EXPECT_NE(refusal([&] { require_combinable({0, false, true}, counts); }).find("models noisy samples"), std::string::npos);
  EXPECT_NO_THROW(require_combinable({0, true, true}, models));
}

TEST(Request, LabelsMinusOneAndOneAreRefusedForTwoClasses) {
  using Classes = std::vector<std::int64_t>;
  EXPECT_NE(refusal([] { refuse_signs(Classes{1, -1, 1}, 2); }).find("give 0 and 1"), std::string::npos);
  refuse_signs(Classes{1, -1, 0}, 2);  // one class has no sign
  refuse_signs(Classes{1, -1, 1}, 3);
  refuse_signs(Classes{1, 1}, 2);
  refuse_signs({}, 2);
}

TEST(Request, ARunGivesLabelsBackAndNeedsOneForEachPoint) {
  std::mt19937 random(3);
  const auto executor = make_executor("cpu", test::small_cnn(4), {}).value();
  EstimateRequest request;
  constexpr std::int64_t kPoints = 12;  // more than one block
  request.x = test::random_tensor({kPoints, 1, 8, 8}, random);
  request.noises = {parse_noise("gaussian:0.1")};
  request.estimators = {parse_estimator("mc:10")};
  for (std::int64_t i = 0; i < kPoints; ++i) request.labels.push_back(i % 5 - 1);  // -1: no label
  EstimateRun run(*executor, request);
  run.finish();
  ASSERT_EQ(run.rows().size(), static_cast<std::size_t>(kPoints));
  for (std::int64_t i = 0; i < kPoints; ++i)
    EXPECT_EQ(run.rows()[i].label, i % 5 == 0 ? std::nullopt : std::optional<std::int64_t>(i % 5 - 1)) << i;
  request.target = "label";
  request.x = test::random_tensor({2, 1, 8, 8}, random);
  request.labels = {3, 2};
  EstimateRun labelled(*executor, request);
  labelled.finish();
  EXPECT_EQ(labelled.rows()[0].target, 3);
  EXPECT_EQ(labelled.rows()[1].target, 2);
  request.labels = {1};
  EstimateRun few(*executor, request);
  EXPECT_NE(refusal([&] { few.finish(); }).find("labels must have one label per point, not 1 for 2 points"), std::string::npos);
}

// If one of several estimators is not supported, its rows have the reason, even if the others are in other requests.
TEST(Request, ARunThatIsPartOfOneKeepsRowsWithoutP) {
  std::mt19937 random(3);
  ExecutorOptions small;
  small.memory = 20 << 10;
  const auto executor = make_executor("cpu", test::small_cnn(4), small).value();
  EstimateRequest request;
  request.x = test::random_tensor({1, 1, 8, 8}, random);
  request.noises = {parse_noise("gaussian:0.1")};
  request.estimators = {parse_estimator("mmse:4000")};
  EstimateRun alone(*executor, request);
  EXPECT_THROW(alone.finish(), Error);
  request.others = true;
  EstimateRun part(*executor, request);
  part.finish();
  EXPECT_EQ(part.rows()[0].estimate.status, Status::resources);
}

}  // namespace
}  // namespace probust
