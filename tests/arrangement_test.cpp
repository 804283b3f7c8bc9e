// SPDX-License-Identifier: MIT
// How points become a model's input: which axes move, and which shapes are refused.
#include "probust/onnx/arrangement.h"

#include <gtest/gtest.h>

#include "probust/base/error.h"
#include "probust/check/transform.h"
#include "probust/onnx/preprocess.h"

namespace probust {
namespace {

using Order = std::vector<int>;

Order order_of(const Shape& point, const Shape& input, Layout layout = Layout::automatic) {
  const Arrangement arrangement = arrangement_of(point, input, layout);
  return arrangement.permutes() ? arrangement.order : Order{};
}

Error refusal_of(const Shape& point, const Shape& input, Layout layout = Layout::automatic) {
  try {
    (void)arrangement_of(point, input, layout);
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCode::internal, "", "was not refused", ""};
}

TEST(Arrangement, ImagesAreTransposedIfTheExtentsDetermineTheOrder) {
  EXPECT_EQ(order_of({32, 32, 3}, {1, 3, 32, 32}), (Order{2, 0, 1}));
  EXPECT_EQ(order_of({48, 64, 3}, {1, 3, 48, 64}), (Order{2, 0, 1}));
  EXPECT_EQ(order_of({28, 30, 4}, {1, 4, 28, 30}), (Order{2, 0, 1}));
  EXPECT_EQ(order_of({3, 32, 32}, {1, 32, 32, 3}), (Order{1, 2, 0}));
  EXPECT_EQ(order_of({3, 32, 32}, {1, 3, 32, 32}), Order{});
  EXPECT_EQ(order_of({32, 32, 3}, {1, 32, 32, 3}), Order{});
  EXPECT_NE(arrangement_of({32, 32, 3}, {1, 3, 32, 32}, Layout::automatic).note, "");
  EXPECT_EQ(arrangement_of({3, 32, 32}, {1, 3, 32, 32}, Layout::automatic).note, "");
}

TEST(Arrangement, SeriesAndVolumesAreTransposedToo) {
  EXPECT_EQ(order_of({100, 6}, {1, 6, 100}), (Order{1, 0}));
  EXPECT_EQ(order_of({6, 100}, {1, 6, 100}), Order{});
  EXPECT_EQ(order_of({100, 6}, {1, 6, 1, 100}), (Order{1, 0}));
  EXPECT_EQ(order_of({8, 9, 10, 2}, {1, 2, 8, 9, 10}), (Order{3, 0, 1, 2}));
  EXPECT_EQ(order_of({6, 6}, {1, 6, 6}), Order{});  // as stored, because nothing determines the order
}

TEST(Arrangement, SwappedExtentsAreRefused) {
  for (const auto& [point, input] :
       {std::pair(Shape{1, 48, 64}, Shape{1, 1, 64, 48}), std::pair(Shape{3, 48, 64}, Shape{1, 3, 64, 48}),
        std::pair(Shape{48, 64}, Shape{1, 1, 64, 48}), std::pair(Shape{48, 64, 3}, Shape{1, 3, 64, 48}),
        std::pair(Shape{12, 16, 16}, Shape{1, 3, 32, 32})}) {
    const Error error = refusal_of(point, input);
    EXPECT_EQ(error.code, ErrorCode::unreadable) << error.message();
    EXPECT_NE(error.message().find(to_string(point)), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("layout"), std::string::npos) << error.message();
  }
  EXPECT_EQ(order_of({3, 48, 64}, {1, 3, 64, 48}, Layout::whcn), (Order{0, 2, 1}));
  EXPECT_EQ(order_of({1, 48, 64}, {1, 1, 64, 48}, Layout::whcn), (Order{0, 2, 1}));
  EXPECT_EQ(order_of({48, 64}, {1, 1, 64, 48}, Layout::whcn), (Order{1, 0}));
}

TEST(Arrangement, FlatPointsAndInputsAndMergedAxesAreRead) {
  EXPECT_EQ(order_of({784}, {1, 1, 28, 28}), Order{});
  EXPECT_EQ(order_of({1, 28, 28}, {1, 784}), Order{});
  EXPECT_EQ(order_of({1, 28, 28}, {1, 784, 1}), Order{});
  EXPECT_EQ(order_of({28, 28}, {1, 1, 28, 28}), Order{});
  EXPECT_EQ(order_of({28, 28, 1}, {1, 1, 28, 28}), Order{});
  EXPECT_EQ(order_of({3, 32, 32}, {1, 3, 1024}), Order{});
  EXPECT_EQ(order_of({5}, {1, 1, 1, 5}), Order{});
  const Arrangement flat = arrangement_of({32, 32, 3}, {1, 3072}, Layout::automatic);
  EXPECT_FALSE(flat.permutes());
  EXPECT_NE(flat.note.find("in stored order"), std::string::npos);
}

// --layout names the axis order of the model's input, whatever the order of the data is.
TEST(Arrangement, ALayoutMeansTheSameForBothOrdersOfTheData) {
  for (const Shape& input : {Shape{1, 32, 32, 3}, Shape{1, 3072}}) {
    EXPECT_EQ(order_of({3, 32, 32}, input, Layout::nhwc), (Order{1, 2, 0})) << to_string(input);
    EXPECT_EQ(order_of({32, 32, 3}, input, Layout::nhwc), Order{}) << to_string(input);
  }
  for (const Shape& input : {Shape{1, 3, 32, 32}, Shape{1, 3072}}) {
    EXPECT_EQ(order_of({3, 32, 32}, input, Layout::nchw), Order{}) << to_string(input);
    EXPECT_EQ(order_of({32, 32, 3}, input, Layout::nchw), (Order{2, 0, 1})) << to_string(input);
    EXPECT_EQ(order_of({3, 32, 32}, input, Layout::whcn), (Order{0, 2, 1})) << to_string(input);
    EXPECT_EQ(order_of({32, 32, 3}, input, Layout::whcn), (Order{2, 1, 0})) << to_string(input);
  }
  EXPECT_EQ(refusal_of({3, 32, 32}, {1, 32, 32, 3}, Layout::nchw).code, ErrorCode::unreadable);
  EXPECT_EQ(refusal_of({4}, {1, 4}, Layout::nhwc).code, ErrorCode::usage);
}

TEST(Arrangement, MeanAndStdRunAlongTheChannels) {
  const auto axis = [](const Shape& point, const Shape& input, const Preprocessing& preprocessing) {
    return channel_axis(arrangement_of(point, input, preprocessing.layout), point, preprocessing);
  };
  const Preprocessing three{{1, 2, 3}, {1, 1, 1}};
  EXPECT_EQ(axis({3, 32, 32}, {1, 3, 32, 32}, three), 0);
  EXPECT_EQ(axis({3, 32, 32}, {1, 32, 32, 3}, three), 0);
  EXPECT_EQ(axis({32, 32, 3}, {1, 3, 32, 32}, three), 2);
  EXPECT_EQ(axis({32, 32, 3}, {1, 32, 32, 3}, three), 2);
  EXPECT_EQ(axis({32, 32, 3}, {1, 3072}, three), 2);
  EXPECT_EQ(axis({100, 3}, {1, 3, 100}, three), 1);
  EXPECT_EQ(axis({3, 100}, {1, 3, 100}, three), 0);
}

TEST(Arrangement, PointsComeBackFromTheInput) {
  Tensor points({2, 2, 2, 3});
  for (std::int64_t i = 0; i < points.size(); ++i) points.data[i] = static_cast<float>(i);
  for (const Layout layout : {Layout::nchw, Layout::whcn}) {
    Transform transform{2, {1, 2, 3}, {2}, 2, arrangement_of({2, 2, 3}, {1, 3, 2, 2}, layout)};
    const Tensor input = transformed(points, transform, {1, 3, 2, 2});
    EXPECT_NE(input.data, points.data);
    EXPECT_EQ(transformed_back(input, transform, {2, 2, 3}).data, points.data);
  }
  const Transform transform{1, {}, {}, 2, arrangement_of({2, 2, 3}, {1, 3, 2, 2}, Layout::automatic)};
  const Tensor input = transformed(points, transform, {1, 3, 2, 2});
  EXPECT_EQ(std::vector<float>(input.data.begin(), input.data.begin() + 4), (std::vector<float>{0, 3, 6, 9}));
}

}  // namespace
}  // namespace probust
