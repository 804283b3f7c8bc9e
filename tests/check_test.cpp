// SPDX-License-Identifier: MIT
// The check of data, preprocessing, layout and labels: tested with classifiers whose correct preprocessing is known.
#include "probust/check/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "probust/check/label_orders.h"
#include "probust/check/transform.h"

namespace probust {
namespace {

constexpr std::int64_t kClasses = 12, kSide = 6;

// Pictures of twelve classes, as bytes, and a classifier that finds the nearest template if its pixels are preprocessed as
// `wanted`.
struct World {
  explicit World(std::int64_t channels, std::int64_t points = 240, double share_wrong = 0.1) : shape{channels, kSide, kSide} {
    std::mt19937 random(7);
    const std::int64_t d = element_count(shape);
    templates = Tensor({kClasses, d});
    for (float& value : templates.data) value = static_cast<float>(random() % 256);
    Shape all = shape;
    all.insert(all.begin(), points);
    x = Tensor(all);
    for (std::int64_t i = 0; i < points; ++i) {
      const std::int64_t of_class = i % kClasses;
      const bool wrong = static_cast<double>(random() % 1000) < 1000 * share_wrong;
      labels.push_back(wrong ? static_cast<std::int64_t>(random() % kClasses) : of_class);
      for (std::int64_t e = 0; e < d; ++e) {
        const double value = templates.row(of_class)[e] + 0.05 * (static_cast<double>(random() % 256) - 127.5);
        x.row(i)[e] = static_cast<float>(std::clamp(std::round(value), 0.0, 255.0));
      }
    }
  }

  // The classifier of model inputs [n, ...input_shape]. Inputs far from every template get class 0.
  std::function<Tensor(const Tensor&)> classifier(const Transform& wanted, const Shape& input_shape) {
    const Tensor prepared = transformed(as_points(templates), wanted, input_shape);
    constexpr double kFar = 6;  // in bytes; the noise has a standard deviation of 3.7
    const double gain = wanted.scale / (wanted.std.empty() ? 1 : wanted.std.back());
    const double far = std::pow(kFar * gain, 2) * static_cast<double>(element_count(shape));
    return [this, prepared, far](const Tensor& inputs) {
      passes += inputs.shape[0];
      Tensor logits({inputs.shape[0], kClasses});
      for (std::int64_t i = 0; i < inputs.shape[0]; ++i) {
        for (std::int64_t c = 0; c < kClasses; ++c) {
          double distance = 0;
          for (std::size_t e = 0; e < inputs.row(i).size(); ++e) distance += std::pow(inputs.row(i)[e] - prepared.row(c)[e], 2);
          logits.row(i)[c] = static_cast<float>(-distance);
        }
        logits.row(i)[0] = std::max(logits.row(i)[0], static_cast<float>(-far));
      }
      return logits;
    };
  }

  Tensor as_points(const Tensor& flat) const {
    Tensor result = flat;
    result.shape = shape;
    result.shape.insert(result.shape.begin(), flat.shape[0]);
    return result;
  }

  Shape shape;
  Tensor templates, x;
  std::vector<std::int64_t> labels;
  std::int64_t passes = 0;
};

Transform transform_of(double scale, std::vector<double> mean, std::vector<double> std, const Shape& point, const Shape& input,
                       Layout layout = Layout::automatic) {
  Transform transform{scale, std::move(mean), std::move(std), 0, arrangement_of(point, input, layout)};
  transform.channel_axis = channel_axis(transform.arrangement, point, {});
  return transform;
}

constexpr double kByte = 1.0 / 255;

// The input of a check of bytes, as the command line would read it, for a model that expects different preprocessing.
CheckInput check_of(World& world, const Transform& wanted, const Shape& input_shape) {
  CheckInput input;
  input.x = world.x;
  input.bytes = true;
  input.scale = kByte;
  input.labels = world.labels;
  input.input_shape = input_shape;
  input.classes = kClasses;
  input.logits = world.classifier(wanted, input_shape);
  input.thorough = true;
  return input;
}

std::string all_text(const CheckReport& report) { return check_text(report); }

std::vector<std::string> kinds(const CheckReport& report, Severity severity) {
  std::vector<std::string> result;
  for (const Finding& finding : report.findings) {
    if (finding.severity == severity) result.push_back(finding.kind);
  }
  return result;
}

struct Case {
  const char* name;
  std::int64_t channels;
  double scale;
  std::vector<double> mean, std;
  const char* options;
};

class Preprocessings : public testing::TestWithParam<Case> {};

TEST_P(Preprocessings, AreNamedIfTheyAreMissingAndNotIfTheyAreGiven) {
  const Case& with = GetParam();
  World world(with.channels);
  const Shape input_shape{1, with.channels, kSide, kSide};
  CheckInput input = check_of(world, transform_of(with.scale, with.mean, with.std, world.shape, input_shape), input_shape);
  const CheckReport missing = check(input);
  EXPECT_EQ(missing.options.text(), with.options) << all_text(missing);
  EXPECT_EQ(kinds(missing, Severity::warning), std::vector<std::string>{"preprocessing"}) << all_text(missing);
  input.scale = with.scale;
  input.preprocessing.mean = with.mean;
  input.preprocessing.std = with.std;
  const CheckReport given = check(input);
  EXPECT_FALSE(given.suspicious()) << all_text(given);
  EXPECT_TRUE(all_text(given).ends_with("nothing suspicious\n"));
  EXPECT_GT(*given.correct, *missing.correct);
}

INSTANTIATE_TEST_SUITE_P(All, Preprocessings,
                         testing::Values(Case{"unscaled", 1, 1, {}, {}, "scale 1"},
                                         Case{"symmetric", 1, kByte, {0.5}, {0.5}, "mean 0.5 std 0.5"},
                                         Case{"symmetric_in_colour", 3, kByte, {0.5}, {0.5}, "mean 0.5 std 0.5"},
                                         Case{"unscaled_colour", 3, 1, {}, {}, "scale 1"}),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(Check, NamesTheMeanAndStdOfEachPublishedDataSet) {
  struct Published {
    std::int64_t channels;
    std::vector<double> mean, std;
    const char* name;
  };
  for (const Published& published :
       {Published{3, {0.4914, 0.4822, 0.4465}, {0.247, 0.2435, 0.2616}, "CIFAR-10 mean and std"},
        Published{3, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, "ImageNet mean and std"},
        Published{1, {0.1307}, {0.3081}, "MNIST mean and std"}, Published{1, {0.286}, {0.353}, "Fashion-MNIST mean and std"}}) {
    World world(published.channels, 240, 0);
    const Shape input_shape{1, published.channels, kSide, kSide};
    CheckInput input = check_of(world, transform_of(kByte, published.mean, published.std, world.shape, input_shape), input_shape);
    const CheckReport report = check(input);
    ASSERT_TRUE(report.suspicious()) << published.name;
    EXPECT_NE(report.warnings()[0].find(std::string("with ") + published.name), std::string::npos) << all_text(report);
  }
}

TEST(Check, NamesTheLayoutOfTransposedImages) {
  World world(1);
  const Shape flat{1, kSide * kSide};
  for (const Shape& input_shape : {Shape{1, 1, kSide, kSide}, flat}) {
    CheckInput input = check_of(world, transform_of(kByte, {}, {}, world.shape, input_shape, Layout::whcn), input_shape);
    EXPECT_EQ(check(input).options.text(), "layout whcn");
    input.preprocessing.layout = Layout::whcn;
    EXPECT_FALSE(check(input).suspicious());
  }
  // The same images as flat points.
  const Shape input_shape{1, 1, kSide, kSide};
  CheckInput input = check_of(world, transform_of(kByte, {}, {}, world.shape, input_shape, Layout::whcn), input_shape);
  input.x.shape = {input.x.shape[0], kSide * kSide};
  EXPECT_EQ(check(input).options.text(), "layout whcn");
}

TEST(Check, NamesPreprocessingAndLayoutTogether) {
  World world(3);
  const Shape input_shape{1, 3, kSide, kSide};
  CheckInput input = check_of(world, transform_of(1, {}, {}, world.shape, input_shape, Layout::whcn), input_shape);
  const CheckReport report = check(input);
  EXPECT_EQ(report.options.text(), "scale 1 layout whcn") << all_text(report);
}

// BGR instead of RGB, with each preprocessing. No option reverses channels.
TEST(Check, NamesColoursInReverseOrder) {
  World world(3, 240, 0);
  const Shape channels_first{1, 3, kSide, kSide}, channels_last{1, kSide, kSide, 3};
  for (const Shape& input_shape : {channels_first, channels_last}) {
    for (const std::vector<double>& mean : {std::vector<double>{}, {0.5}, {0.485, 0.456, 0.406}}) {
      Transform wanted = transform_of(kByte, mean, {}, world.shape, input_shape);
      if (!mean.empty()) wanted.std = mean.size() == 1 ? std::vector<double>{0.5} : std::vector<double>{0.229, 0.224, 0.225};
      wanted.reverse = {kSide * kSide};
      CheckInput input = check_of(world, wanted, input_shape);
      for (const bool given : {true, false}) {
        input.preprocessing.mean = given ? wanted.mean : std::vector<double>{};
        input.preprocessing.std = given ? wanted.std : std::vector<double>{};
        const CheckReport report = check(input);
        ASSERT_TRUE(report.suspicious()) << all_text(report);
        EXPECT_NE(report.warnings()[0].find("channels reversed"), std::string::npos) << all_text(report);
        EXPECT_NE(all_text(report).find("what to do: reverse the channels of the data"), std::string::npos);
        EXPECT_NE(report.hint().find("reverse the channels of the data"), std::string::npos);
        EXPECT_EQ(report.options.empty(), given || mean.empty()) << all_text(report);
      }
    }
  }
}

// The input of a check for a model that expects blue first.
CheckInput check_of_reversed_colours(World& world) {
  const Shape input_shape{1, 3, kSide, kSide};
  Transform wanted = transform_of(kByte, {}, {}, world.shape, input_shape);
  wanted.reverse = {kSide * kSide};
  return check_of(world, wanted, input_shape);
}

TEST(Check, NamesColoursInReverseOrderOfFlatPoints) {
  World world(3, 240, 0);
  CheckInput input = check_of_reversed_colours(world);
  input.x.shape = {240, 3 * kSide * kSide};
  const CheckReport report = check(input);
  ASSERT_TRUE(report.suspicious()) << all_text(report);
  EXPECT_NE(report.warnings()[0].find("channels reversed"), std::string::npos) << all_text(report);
}

TEST(Check, NamesColoursInReverseOrderAsAFirstStep) {
  World world(3, 100, 0.1);
  CheckInput input = check_of_reversed_colours(world);
  input.thorough = false;
  input.most_passes = first_check_passes(100, 0);
  const CheckReport report = check(input);
  ASSERT_TRUE(report.suspicious()) << all_text(report);
  EXPECT_NE(report.warnings()[0].find("channels reversed"), std::string::npos) << all_text(report);
  EXPECT_LE(report.passes, input.most_passes);
}

// There is no layout for flat points, so the remedy is to pass them as images.
TEST(Check, NamesTheOtherOrderOfFlatImages) {
  World world(3, 240, 0);
  const Shape input_shape{1, 3, kSide, kSide};
  CheckInput input = check_of(world, transform_of(kByte, {}, {}, world.shape, input_shape), input_shape);
  Transform last{1, {}, {}, 0, arrangement_of({3, kSide, kSide}, {1, kSide, kSide, 3}, Layout::nhwc)};
  input.x = transformed(world.x, last, {1, kSide, kSide, 3});
  input.x.shape = {240, 3 * kSide * kSide};
  const CheckReport report = check(input);
  ASSERT_TRUE(report.suspicious()) << all_text(report);
  EXPECT_NE(report.warnings()[0].find("channels last"), std::string::npos) << all_text(report);
  EXPECT_NE(all_text(report).find("what to do: give the points as images of shape [6, 6, 3]"), std::string::npos)
      << all_text(report);
}

// The test is exact, so it needs no minimum number of points.
TEST(Check, FewPointsAreEnoughIfTheDifferenceIsLarge) {
  for (const std::int64_t points : {8, 11}) {
    World world(1, points + 1, 0);
    const Shape input_shape{1, 1, kSide, kSide};
    CheckInput input = check_of(world, transform_of(kByte, {}, {}, world.shape, input_shape, Layout::whcn), input_shape);
    input.x = rows(world.x, 1, points);  // without class 0, which the classifier predicts for transposed images
    input.labels.erase(input.labels.begin());
    const CheckReport report = check(input);
    ASSERT_TRUE(report.suspicious()) << all_text(report);
    EXPECT_NE(report.warnings()[0].find("layout whcn"), std::string::npos) << all_text(report);
    input.preprocessing.layout = Layout::whcn;
    EXPECT_FALSE(check(input).suspicious()) << all_text(check(input));
  }
}

// In units of 0..1, the scale remains, and std maps the input to 0..255.
TEST(Check, KeepsTheUnitsOfSmallNoiseForAModelOfBytes) {
  World world(1);
  const Shape input_shape{1, 1, kSide, kSide};
  CheckInput input = check_of(world, transform_of(1, {}, {}, world.shape, input_shape), input_shape);
  input.sigmas = {0.1};
  const CheckReport report = check(input);
  EXPECT_EQ(report.options.text(), "std 0.00392156862745098") << all_text(report);
}

TEST(Check, RecognisesFloatingPointPixelsForAModelOfBytes) {
  World world(1);
  const Shape input_shape{1, 1, kSide, kSide};
  CheckInput input = check_of(world, transform_of(1, {}, {}, world.shape, input_shape), input_shape);
  for (float& value : input.x.data) value /= 255;
  input.bytes = false;
  input.scale = 1;
  EXPECT_EQ(check(input).options.text(), "scale 255");
}

TEST(Check, NamesStandardisedColumnsOfTables) {
  std::mt19937 random(3);
  for (const std::vector<double>& scales : {std::vector<double>{1000, 1, 0.01}, {1, 1, 500}, {0.001, 30, 2}}) {
    CheckInput input;
    input.x = Tensor({150, 3});
    for (std::int64_t i = 0; i < 150; ++i) {
      const std::int64_t label = i % 3;
      input.labels.push_back(label);
      for (std::int64_t c = 0; c < 3; ++c) {
        const double unit = (label == c ? 3 : 0) + static_cast<double>(random() % 1000) / 1000;
        input.x.row(i)[c] = static_cast<float>(scales[c] * (10 + unit));
      }
    }
    input.input_shape = {1, 3};
    input.classes = 3;
    input.logits = [](const Tensor& z) {  // the largest standardised column
      Tensor logits = z;
      for (float& value : logits.data) value = std::fabs(value) > 10 ? 0 : value;
      return logits;
    };
    input.thorough = true;
    const CheckReport report = check(input);
    ASSERT_EQ(report.options.add.size(), 2U) << all_text(report);
    EXPECT_EQ(report.options.add[0].first, "mean");
    EXPECT_EQ(report.options.add[1].first, "std");
    EXPECT_NE(report.warnings()[0].find("columns standardised"), std::string::npos);
  }
}

// ---- labels

CheckInput with_labels(World& world, const std::function<std::int64_t(std::int64_t)>& of) {
  const Shape input_shape{1, 1, kSide, kSide};
  CheckInput input = check_of(world, transform_of(kByte, {}, {}, world.shape, input_shape), input_shape);
  for (std::int64_t& label : input.labels) label = of(label);
  return input;
}

TEST(Check, FindsLabelsInAnotherOrder) {
  World world(1);
  // The position of each number in the order 0, 1, 10, 11, 2, ..., in which class folders are sorted.
  const std::vector<std::int64_t> alphabetical{0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 2, 3};
  struct LabelOrder {
    std::function<std::int64_t(std::int64_t)> of;
    const char* name;
  };
  for (const LabelOrder& order : {LabelOrder{[](std::int64_t l) { return l + 1; }, "labels - 1"},
                                  LabelOrder{[](std::int64_t l) { return l - 1; }, "labels + 1"},
                                  LabelOrder{[&](std::int64_t l) { return alphabetical[l]; }, "labels in numeric order"},
                                  LabelOrder{[](std::int64_t l) { return kClasses - 1 - l; }, "labels in another order"},
                                  LabelOrder{[](std::int64_t l) { return l * 5 % kClasses; }, "labels in another order"}}) {
    const CheckReport report = check(with_labels(world, order.of));
    ASSERT_TRUE(report.suspicious()) << order.name;
    EXPECT_EQ(report.findings[0].kind, "labels");
    EXPECT_NE(report.findings[0].text.find(std::string("with ") + order.name), std::string::npos) << all_text(report);
  }
  EXPECT_FALSE(check(with_labels(world, [](std::int64_t l) { return l; })).suspicious());
}

// If two of three classes move up and one moves down, that is not a shift.
TEST(Check, DoesNotReportAPermutationAsAShift) {
  World world(1);
  const CheckReport report = check(with_labels(world, [](std::int64_t l) { return (l + 1) % kClasses; }));
  ASSERT_TRUE(report.suspicious());
  EXPECT_NE(report.warnings()[0].find("with labels in another order"), std::string::npos) << all_text(report);
}

TEST(Check, UsesTheNamesOfLabels) {
  World world(1);
  std::vector<std::string> by_appearance{"m", "c", "k", "a", "l", "b", "j", "d", "i", "e", "h", "f"};
  std::vector<std::string> sorted = by_appearance;
  std::sort(sorted.begin(), sorted.end());
  CheckInput input = with_labels(world, [&](std::int64_t l) {
    return std::find(by_appearance.begin(), by_appearance.end(), sorted[l]) - by_appearance.begin();
  });
  input.label_names = by_appearance;
  const CheckReport report = check(input);
  EXPECT_NE(report.warnings()[0].find("names in alphabetical order"), std::string::npos) << all_text(report);
  EXPECT_NE(report.warnings()[0].find("classes"), std::string::npos);
}

TEST(Check, DoesNotReportAnOrderThatIsRightByChance) {
  World world(1);
  std::mt19937 random(5);
  const CheckReport report =
      check(with_labels(world, [&](std::int64_t) { return static_cast<std::int64_t>(random() % kClasses); }));
  EXPECT_EQ(kinds(report, Severity::warning), std::vector<std::string>{"accuracy"}) << all_text(report);
  // With few points per label, some order fits well if it is tested on the points that it was chosen by.
  World few(1, 60);
  const CheckReport of_few =
      check(with_labels(few, [&](std::int64_t) { return static_cast<std::int64_t>(random() % kClasses); }));
  EXPECT_NE(kinds(of_few, Severity::warning), std::vector<std::string>{"labels"}) << all_text(of_few);
}

// Labels are shifted by one, and the wrong range of pixels costs little accuracy: one change explains everything.
TEST(Check, PrefersOneChangeToTwo) {
  World world(1, 240, 0);
  const Shape input_shape{1, 1, kSide, kSide};
  CheckInput input = with_labels(world, [](std::int64_t l) { return l + 1; });
  const auto classify = world.classifier(transform_of(1, {}, {}, world.shape, input_shape), input_shape);
  const auto right = input.logits;
  input.logits = [=](const Tensor& z) {  // accepts pixels in 0..1 and in 0..255, but misclassifies a few of those in 0..1
    const float most = *std::max_element(z.data.begin(), z.data.end());
    Tensor logits = most > 2 ? classify(z) : right(z);
    for (std::int64_t i = 0; most <= 2 && i < z.shape[0]; i += 32) logits.row(i)[(i / 32 + 5) % kClasses] = 1000;
    return logits;
  };
  const CheckReport report = check(input);
  EXPECT_NE(report.warnings().at(0).find("with labels - 1 ("), std::string::npos) << all_text(report);
}

TEST(Check, ReportsLabelsOutsideTheClasses) {
  World world(1);
  for (const std::int64_t beyond : {std::int64_t{99}, std::int64_t{-1}, kClasses}) {
    CheckInput input = with_labels(world, [&](std::int64_t l) { return l == 3 ? beyond : l; });
    input.logits = nullptr;
    const CheckReport report = check(input);
    ASSERT_EQ(kinds(report, Severity::warning), std::vector<std::string>{"labels"}) << beyond;
    EXPECT_NE(report.warnings()[0].find("but the model has classes 0 to 11"), std::string::npos);
  }
}

TEST(Check, NotesThatTheDataHaveFewerClasses) {
  World world(1);
  CheckInput input = with_labels(world, [](std::int64_t l) { return l; });
  input.all_labels = {0, 1, 2};
  EXPECT_EQ(kinds(check(input), Severity::note), std::vector<std::string>{"classes"});
  input.all_labels.clear();
  EXPECT_TRUE(check(input).findings.empty());
}

TEST(Check, BestAssignmentHasTheLargestSum) {
  EXPECT_EQ(best_assignment({{1, 5, 2}, {4, 9, 3}, {7, 8, 0}}), (std::vector<std::int64_t>{2, 1, 0}));
  EXPECT_EQ(best_assignment({{0, 0, 7, 0}, {0, 0, 9, 8}}), (std::vector<std::int64_t>{2, 3}));
  std::mt19937 random(1);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<std::vector<double>> gain(5, std::vector<double>(5));
    for (auto& row : gain) {
      for (double& value : row) value = static_cast<double>(random() % 20);
    }
    const auto sum = [&](const std::vector<std::int64_t>& columns) {
      double total = 0;
      for (std::size_t i = 0; i < columns.size(); ++i) total += gain[i][columns[i]];
      return total;
    };
    std::vector<std::int64_t> order{0, 1, 2, 3, 4};
    double most = 0;
    do most = std::max(most, sum(order));
    while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(sum(best_assignment(gain)), most);
  }
}

// ---- accuracy

// A classifier whose prediction is the label hidden in the point, or a different class.
CheckInput with_accuracy(std::int64_t classes, std::int64_t points, double accuracy, const std::vector<double>& shares = {}) {
  std::mt19937 random(11);
  CheckInput input;
  input.x = Tensor({points, 2});
  for (std::int64_t i = 0; i < points; ++i) {
    std::int64_t label = static_cast<std::int64_t>(random()) % classes;
    if (!shares.empty()) label = static_cast<double>(random() % 1000) < 1000 * shares[0] ? 0 : 1;
    const bool right = static_cast<double>(i) < accuracy * static_cast<double>(points);
    const std::int64_t predicted = right ? label : (label + 1 + static_cast<std::int64_t>(random()) % (classes - 1)) % classes;
    input.labels.push_back(label);
    input.x.row(i)[0] = static_cast<float>(predicted);
    input.x.row(i)[1] = static_cast<float>(i);
  }
  input.preprocessing.mean = {0, 0};  // no alternative preprocessing reveals the hidden label
  input.input_shape = {1, 2};
  input.classes = classes;
  input.logits = [=](const Tensor& z) {
    Tensor logits({z.shape[0], classes});
    for (std::int64_t i = 0; i < z.shape[0]; ++i) {
      const auto c = static_cast<std::int64_t>(std::lround(z.row(i)[0]));
      logits.row(i)[std::clamp<std::int64_t>(c, 0, classes - 1)] = 1;
    }
    return logits;
  };
  return input;
}

TEST(Check, LowAccuracyIsAWarningAndHardProblemsAreNot) {
  const auto warns = [](const CheckInput& input) { return check(input).suspicious(); };
  EXPECT_TRUE(warns(with_accuracy(43, 300, 0.087)));
  EXPECT_TRUE(warns(with_accuracy(10, 200, 0.2)));
  EXPECT_TRUE(warns(with_accuracy(10, 200, 0.3)));
  EXPECT_FALSE(warns(with_accuracy(10, 200, 0.45)));
  EXPECT_FALSE(warns(with_accuracy(2, 200, 0.705)));
  EXPECT_TRUE(warns(with_accuracy(2, 200, 0.52)));
  for (const std::int64_t points : {26, 200, 500}) EXPECT_FALSE(warns(with_accuracy(2, points, 0.615))) << points;
  EXPECT_TRUE(warns(with_accuracy(10, 12, 0)));
  EXPECT_FALSE(warns(with_accuracy(2, 4, 0.25)));
  EXPECT_FALSE(warns(with_accuracy(1000, 300, 0.3)));
  EXPECT_FALSE(warns(with_accuracy(10, 12, 0.25)));  // too few points to decide
  EXPECT_FALSE(warns(with_accuracy(2, 400, 0.93, {0.9})));
}

TEST(Check, OneClassForAllPointsIsAWarning) {
  CheckInput input = with_accuracy(10, 40, 1);
  input.logits = [](const Tensor& z) {
    Tensor logits({z.shape[0], 10});
    for (std::int64_t i = 0; i < z.shape[0]; ++i) logits.row(i)[4] = 1;
    return logits;
  };
  const CheckReport report = check(input);
  EXPECT_NE(report.warnings().at(0).find("all 40 points get class 4"), std::string::npos) << all_text(report);
  input.labels.clear();
  EXPECT_EQ(kinds(check(input), Severity::warning), std::vector<std::string>{"prediction"});
  input.labels.assign(40, 4);
  EXPECT_FALSE(check(input).suspicious());
}

// A single output number may be a score or a regression's prediction.
TEST(Check, OneClassByAThresholdNamesTheOptionsOfRegression) {
  const std::string of_scores = one_class_finding(40, 1, "largest of 'y'").text,
                    of_number = one_class_finding(40, 1, "class 1 if 'y' > 0").text;
  EXPECT_EQ(of_scores.find("threshold"), std::string::npos);
  EXPECT_NE(spelled(of_number, as_field).find("give threshold or tolerance"), std::string::npos) << of_number;
}

// The reverse of missing standardisation: no option restores the values.
TEST(Check, ReportsColumnsThatAreAlreadyStandardised) {
  std::mt19937 random(2);
  CheckInput input = with_accuracy(3, 90, 0.3);
  std::normal_distribution<float> normal;
  for (float& value : input.x.data) value = normal(random);
  input.preprocessing = {};
  input.logits = [](const Tensor& z) {
    Tensor logits({z.shape[0], 3});
    for (std::int64_t i = 0; i < z.shape[0]; ++i) logits.row(i)[0] = 100;
    return logits;
  };
  const CheckReport report = check(input);
  EXPECT_NE(all_text(report).find("give the columns as measured"), std::string::npos) << all_text(report);
  for (float& value : input.x.data) value = 10 + 3 * value;
  EXPECT_EQ(all_text(check(input)).find("as measured"), std::string::npos);
}

// ---- ranges

CheckInput of_values(const Shape& shape, const std::function<float(std::int64_t)>& value, const std::vector<double>& sigmas) {
  CheckInput input;
  input.x = Tensor(shape);
  for (std::int64_t i = 0; i < input.x.size(); ++i) input.x.data[i] = value(i);
  input.sigmas = sigmas;
  input.input_shape = shape;
  input.input_shape[0] = 1;
  return input;
}

float pixel(std::int64_t i) { return static_cast<float>(i * 37 % 256); }

TEST(Check, PixelsUpTo255AndSmallNoiseAreAWarning) {
  for (const Shape& shape : {Shape{5, 1, 8, 8}, Shape{5, 3, 8, 8}, Shape{5, 8, 8, 3}, Shape{5, 64}}) {
    const CheckReport report = check(of_values(shape, pixel, {0.3}));
    ASSERT_EQ(kinds(report, Severity::warning), std::vector<std::string>{"range"}) << to_string(shape) << all_text(report);
    EXPECT_NE(report.warnings()[0].find("pixels range from 0 to 255, but sigma is 0.3"), std::string::npos);
    EXPECT_EQ(report.options.text(), "scale 0.00392156862745098");
    EXPECT_FALSE(check(of_values(shape, pixel, {30})).suspicious());
    EXPECT_FALSE(check(of_values(shape, pixel, {})).suspicious());
    EXPECT_FALSE(check(of_values(shape, [](std::int64_t i) { return pixel(i) / 255; }, {0.3})).suspicious());
    EXPECT_FALSE(check(of_values(shape, [](std::int64_t i) { return pixel(i) / 64 - 2; }, {0.3})).suspicious());  // standardised
  }
}

// A model that expects 0..255, in units of 0..1. The images are flat, in the units in which people store them.
TEST(Check, FlatPixelsOfEveryUnitAreRecognised) {
  std::mt19937 random(5);
  struct Stored {
    Shape shape;
    float most;
    double step, full;
  };
  for (const auto& [shape, most, step, full] : std::vector<Stored>{{{3072}, 255, 1, 255},
                                                                   {{784}, 255, 0, 255},
                                                                   {{784}, 65535, 1, 65535},
                                                                   {{28, 28}, 65535, 257, 65535},
                                                                   {{784}, 100, 1, 100}}) {
    CheckInput input;
    Shape all = shape;
    all.insert(all.begin(), 5);
    input.x = Tensor(all);
    for (float& value : input.x.data) {
      const double u = static_cast<double>(random() % 100000) / 100000 * most;
      value = static_cast<float>(step == 0 ? u : std::floor(u / step) * step);
    }
    input.x.data[0] = most;
    input.sigmas = {0.3};
    const CheckReport report = check(input);
    ASSERT_EQ(kinds(report, Severity::warning), std::vector<std::string>{"range"}) << most << ": " << all_text(report);
    ASSERT_EQ(report.options.add.size(), 1U);
    EXPECT_EQ(report.options.add[0].first, "scale");
    EXPECT_NEAR(std::stod(report.options.add[0].second) * full, 1, 1e-6);
  }
  CheckInput table;  // of 64 counts
  table.x = Tensor({5, 64});
  for (float& value : table.x.data) value = static_cast<float>(random() % 17);
  table.sigmas = {0.3};
  EXPECT_TRUE(kinds(check(table), Severity::warning).empty());
}

// Masks and drawings that are stored as bytes, for a model that expects these values unchanged.
TEST(Check, BytesOfZeroAndOneNeedNoScale) {
  World world(1);
  for (Tensor* values : {&world.x, &world.templates}) {
    for (float& value : values->data) value = value > 127 ? 1 : 0;
  }
  const Shape input_shape{1, 1, kSide, kSide};
  CheckInput input = check_of(world, transform_of(1, {}, {}, world.shape, input_shape), input_shape);
  input.sigmas = {0.1};
  const CheckReport report = check(input);
  EXPECT_EQ(report.options.text(), "scale 1") << all_text(report);
}

TEST(Check, UndoesTheScaleForAModelOfUnscaledPixels) {
  World world(1);
  const Shape input_shape{1, 1, kSide, kSide};
  CheckInput input = check_of(world, transform_of(1, {}, {}, world.shape, input_shape), input_shape);
  input.scale = 1;
  input.sigmas = {0.3};
  for (const bool thorough : {true, false}) {
    input.thorough = thorough;
    const CheckReport report = check(input);
    EXPECT_EQ(report.options.text(), "scale 0.00392156862745098 std 0.00392156862745098") << all_text(report);
    CheckInput repaired = input;
    repaired.scale = kByte;
    repaired.preprocessing.std = {kByte};
    EXPECT_FALSE(check(repaired).suspicious());
  }
}

TEST(Check, NoiseLargerThanTheRangeIsAWarning) {
  const auto report_for = [](const std::vector<double>& sigmas) {
    return check(of_values(
        {6, 3}, [](std::int64_t i) { return static_cast<float>(i) / 20; }, sigmas));
  };
  EXPECT_EQ(kinds(report_for({5}), Severity::warning), std::vector<std::string>{"sigma"});
  EXPECT_EQ(kinds(report_for({0.1, 5}), Severity::note), std::vector<std::string>{"sigma"});
  EXPECT_TRUE(report_for({0.1}).findings.empty());
}

TEST(Check, NotesDuplicatesConstantsAndColumns) {
  const auto kinds_of = [](const CheckInput& input) { return kinds(check(input), Severity::note); };
  EXPECT_EQ(
      kinds_of(of_values({4, 2}, [](std::int64_t i) { return i < 4 ? static_cast<float>(i % 2) : static_cast<float>(i); }, {})),
      std::vector<std::string>{"data"});  // because two points are equal
  EXPECT_EQ(kinds_of(of_values({4, 2}, [](std::int64_t i) { return i % 2 == 0 ? 7.0F : static_cast<float>(i); }, {})).size(), 2U);
  EXPECT_EQ(kinds_of(of_values({4, 2}, [](std::int64_t i) { return static_cast<float>(i % 2 == 0 ? 1000 * i : i); }, {0.5})),
            std::vector<std::string>{"sigma"});
  EXPECT_EQ(kinds_of(of_values({3, 2}, [](std::int64_t i) { return i == 2 ? NAN : static_cast<float>(i * i); }, {})),
            std::vector<std::string>{"data"});
  EXPECT_TRUE(check(of_values({3, 4}, [](std::int64_t) { return 1.0F; }, {})).suspicious());
  EXPECT_TRUE(check(of_values({3, 4}, [](std::int64_t) { return NAN; }, {})).suspicious());
}

// ---- cost and interruption

TEST(Check, UsesNoMorePassesThanAllowed) {
  World world(3);
  const Shape input_shape{1, 3, kSide, kSide};
  CheckInput input = check_of(world, transform_of(1, {}, {}, world.shape, input_shape), input_shape);
  input.thorough = false;
  for (const std::int64_t most : {10, 100, 400, 1000}) {
    input.most_passes = most;
    world.passes = 0;
    EXPECT_LE(check(input).passes, most);
    EXPECT_LE(world.passes, most);
  }
  input.most_passes = 400;
  EXPECT_TRUE(check(input).suspicious());
}

TEST(Check, RunsNoAlternativeThatCannotBeBetter) {
  World world(1, 100, 0);
  const Shape input_shape{1, 1, kSide, kSide};
  CheckInput input = check_of(world, transform_of(kByte, {}, {}, world.shape, input_shape), input_shape);
  input.thorough = false;
  EXPECT_EQ(check(input).passes, 100);
}

TEST(Check, AnInterruptedCheckReportsWhatItFound) {
  World world(1);
  const Shape input_shape{1, 1, kSide, kSide};
  CheckInput input = check_of(world, transform_of(1, {}, {}, world.shape, input_shape), input_shape);
  const auto classify = input.logits;
  for (const std::int64_t after : {0, 300, 700}) {
    std::int64_t left = after;
    input.logits = [&](const Tensor& z) {
      left -= z.shape[0];
      if (left < 0) throw interruption();
      return classify(z);
    };
    const CheckReport report = check(input);
    EXPECT_FALSE(report.complete);
    EXPECT_EQ(report.correct.has_value(), after > 0);
    EXPECT_NE(all_text(report).find("interrupted"), std::string::npos);
  }
}

TEST(Check, WritesJson) {
  World world(1);
  const Shape input_shape{1, 1, kSide, kSide};
  const CheckReport report = check(check_of(world, transform_of(1, {}, {}, world.shape, input_shape), input_shape));
  const std::string json = check_json(report, [](std::string_view field) { return "--" + std::string(field); });
  for (const char* part :
       {"\"suspicious\": true", "\"accuracy\": ", "\"add\": {\"scale\": \"1\"}", "give --scale 1", "\"text\": \"--scale 1\""})
    EXPECT_NE(json.find(part), std::string::npos) << part << json;
}

// If classes alternate in the data, equidistant points would show only some of them.
TEST(Check, SpreadPositionsCoverEveryClass) {
  for (const std::int64_t classes : {2, 3, 5, 10}) {
    for (const std::int64_t count : {200, 600, 1000, 5000}) {
      std::vector<std::int64_t> seen(classes, 0);
      const std::vector<std::int64_t> positions = spread_positions(count, 100);
      EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
      EXPECT_LT(positions.back(), count);
      for (const std::int64_t position : positions) ++seen[position % classes];
      EXPECT_GE(*std::min_element(seen.begin(), seen.end()), 40 / classes) << count << " of " << classes;
    }
  }
  EXPECT_EQ(spread_positions(3, 100), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(spread_positions(0, 100), std::vector<std::int64_t>{});
}

TEST(Check, RefusesLabelsOfAnotherCount) {
  World world(1);
  CheckInput input = with_labels(world, [](std::int64_t l) { return l; });
  input.labels.pop_back();
  EXPECT_THROW((void)check(input), Error);
}

}  // namespace
}  // namespace probust
