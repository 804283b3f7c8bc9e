// SPDX-License-Identifier: MIT
// Compares third-party models with outputs computed by ONNX Runtime.
#include "support/shared_models.h"

#include <gtest/gtest.h>

#include <cmath>

namespace probust {
namespace {

class SharedModels : public testing::TestWithParam<std::string> {};

// If the final Softmax of a model was removed, the model returns logits, but the reference has probabilities.
void apply_softmax(std::span<float> row, bool logarithm) {
  double largest = -INFINITY, sum = 0;
  for (const float value : row) largest = std::max(largest, double{value});
  for (const float value : row) sum += std::exp(value - largest);
  for (float& value : row)
    value = static_cast<float>(logarithm ? value - largest - std::log(sum) : std::exp(value - largest) / sum);
}

TEST_P(SharedModels, LogitsAgreeWithTheOracle) {
  const auto entry = test::shared_model_records().at(GetParam());
  const auto model = test::import_shared(GetParam());
  ASSERT_TRUE(model) << model.error().message();
  const test::SharedModel shared = test::shared_model(entry);
  Tensor logits = test::shared_executor(*model, shared)->logits(shared.x).value();
  const Tensor oracle = read_npy((test::shared_folder() / "models" / std::string(entry.at("oracle_logits"))).string()).value();
  ASSERT_EQ(logits.size(), oracle.size());
  for (const std::string& note : model->notes) {
    if (note.find("Softmax is left out") == std::string::npos) continue;
    for (std::int64_t i = 0; i < logits.shape[0]; ++i) apply_softmax(logits.row(i), note.find("LogSoftmax") != std::string::npos);
  }
  float largest = 0;
  double worst = 0;
  for (const float value : oracle.data) largest = std::max(largest, std::fabs(value));
  for (std::int64_t i = 0; i < logits.size(); ++i)
    worst = std::max(worst, std::fabs(double{logits.data[i]} - double{oracle.data[i]}));
  RecordProperty("worst", std::to_string(worst / largest));
  EXPECT_LE(worst, 1e-4 * largest) << "worst difference over largest logit: " << worst / largest;
}

TEST_P(SharedModels, GiveTheSameBatchedAndOneByOne) {
  const auto model = test::import_shared(GetParam());
  ASSERT_TRUE(model) << model.error().message();
  const test::SharedModel shared = test::shared_model(test::shared_model_records().at(GetParam()));
  Tensor few;
  few.shape = shared.x.shape;
  few.shape[0] = std::min<std::int64_t>(5, few.shape[0]);
  few.data.assign(shared.x.data.begin(), shared.x.data.begin() + element_count(few.shape));
  ExecutorOptions one;
  one.batch = 1;
  EXPECT_EQ(test::shared_executor(*model, shared)->logits(few).value().data,
            test::shared_executor(*model, shared, one)->logits(few).value().data);
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  if (!test::has_shared("models/models.json")) return names;
  const auto records = test::shared_model_records();
  for (const auto& [name, entry] : records.items()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, SharedModels, testing::ValuesIn(model_names()), [](const auto& name) { return name.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharedModels);

TEST(SharedModelsFolder, IsThere) { PROBUST_NEEDS_SHARED("models/models.json"); }

}  // namespace
}  // namespace probust
