// SPDX-License-Identifier: MIT
#include "probust/check/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probust/base/text.h"

namespace probust {
namespace {

constexpr double kByte = 255, kShort = 65535, kOver = 1.01;  // kOver: rounding may exceed 1

Shape point_of(const CheckInput& input) { return {input.x.shape.begin() + 1, input.x.shape.end()}; }

Shape axes_of(const Shape& input_shape) {
  return input_shape.size() > 1 ? Shape(input_shape.begin() + 1, input_shape.end()) : input_shape;
}

bool few_channels(std::int64_t extent) { return extent == 1 || extent == 3 || extent == 4; }

// The side length of the square image that a point holds, as a matrix or flattened with one or three channels; 0 if the
// point's shape is not that of one.
std::int64_t side_of_square(const Shape& point) {
  if (point.size() == 2) return point[0] == point[1] ? point[0] : 0;
  if (point.size() != 1) return 0;
  for (const std::int64_t area : {point[0], point[0] % 3 == 0 ? point[0] / 3 : 0}) {
    const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(area))));
    if (side > 0 && side * side == area) return side;
  }
  return 0;
}

// Whether points are images: their shape is [C, H, W] or [H, W, C]; they have at most two axes, but the input has such a shape;
// or they have as many pixels as a square, with suitable values.
bool has_image_shape(const Shape& point, const Shape& input_shape, const Values& values) {
  const auto image = [](const Shape& shape) {
    return shape.size() == 3 && (few_channels(shape[0]) || few_channels(shape[2])) && element_count(shape) >= 16;
  };
  if (image(point) || (point.size() <= 2 && image(axes_of(input_shape)))) return true;
  const std::int64_t side = side_of_square(point);
  const bool bytes = values.high <= 1 || (values.whole && values.high > 100 && values.high <= kByte);
  constexpr std::int64_t kSmall = 8, kLarge = 16;  // a table may have a few features that are not integers
  return values.low >= 0 && ((side >= kSmall && bytes) || (side >= kLarge && values.high <= kShort));
}

// Mean and standard deviation of the stored values of each channel.
void moments_of(const Tensor& x, const Shape& point, int axis, std::vector<double>& mean, std::vector<double>& std) {
  const std::int64_t n = x.shape[0], d = element_count(point), stride = row_major_strides(point)[axis], channels = point[axis];
  std::vector<double> sum(channels, 0), squares(channels, 0), count(channels, 0);
  for (std::int64_t pass = 0; pass < 2; ++pass) {
    for (std::int64_t i = 0; i < n * d; ++i) {
      const double value = x.data[i];
      if (!std::isfinite(value)) continue;
      const std::int64_t channel = i % d / stride % channels;
      if (pass == 0) {
        sum[channel] += value;
        count[channel] += 1;
      } else {
        squares[channel] += (value - mean[channel]) * (value - mean[channel]);
      }
    }
    if (pass == 0) {
      for (std::int64_t c = 0; c < channels; ++c) mean.push_back(count[c] > 0 ? sum[c] / count[c] : 0);
    }
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    const double deviation = count[c] > 0 ? std::sqrt(squares[c] / count[c]) : 0;
    std.push_back(deviation > 0 ? deviation : 1);
  }
}

bool columns_are_standardised(const Tensor& x) {
  constexpr std::int64_t kEnough = 20;  // minimum number of points; a single column would not be enough evidence either
  if (x.shape.size() != 2 || x.shape[0] < kEnough || x.shape[1] < 2) return false;
  std::vector<double> mean, std;
  moments_of(x, {x.shape[1]}, 0, mean, std);
  const auto within = [](const std::vector<double>& values, double low, double high) {
    return std::all_of(values.begin(), values.end(), [&](double value) { return low < value && value < high; });
  };
  return within(mean, -0.5, 0.5) && within(std, 0.6, 1.6);
}

bool close(double a, double b) { return std::fabs(a - b) <= 1e-3 * std::max({1e-12, std::fabs(a), std::fabs(b)}); }

// The affine map v -> a v + b of a channel, as a and b.
std::pair<double, double> map_of(const Transform& t, std::int64_t channel) {
  const double std = value_of_channel(t.std, channel, 1);
  return {t.scale / std, -value_of_channel(t.mean, channel, 0) / std};
}

bool same_values(const Transform& a, const Transform& b) {
  const std::size_t channels = std::max({a.mean.size(), a.std.size(), b.mean.size(), b.std.size(), std::size_t{1}});
  for (std::size_t c = 0; c < channels; ++c) {
    const auto [gain_a, offset_a] = map_of(a, c);
    const auto [gain_b, offset_b] = map_of(b, c);
    if (!close(gain_a, gain_b) || std::fabs(offset_a - offset_b) > 1e-3 * (1 + std::fabs(offset_a))) return false;
  }
  return true;
}

bool same_order(const Arrangement& a, const Arrangement& b) {
  return (!a.permutes() && !b.permutes()) || (a.view == b.view && a.moved_axes() == b.moved_axes());
}

// Published statistics of pixels in 0..1.
struct Statistics {
  const char* name;
  std::vector<double> mean, std;
};
std::vector<Statistics> published(std::int64_t channels) {
  std::vector<Statistics> all{{"pixels in -1..1", {0.5}, {0.5}}};
  if (channels == 3) {
    all.push_back({"CIFAR-10 mean and std", {0.4914, 0.4822, 0.4465}, {0.247, 0.2435, 0.2616}});
    all.push_back({"ImageNet mean and std", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}});
    all.push_back({"CIFAR-10 mean and std (another std)", {0.4914, 0.4822, 0.4465}, {0.2023, 0.1994, 0.201}});
  } else if (channels == 1) {
    all.push_back({"MNIST mean and std", {0.1307}, {0.3081}});
    all.push_back({"Fashion-MNIST mean and std", {0.286}, {0.353}});
  }
  return all;
}

// Adds the options that change mean or std from the given values to the wanted ones.
void ask_for(const char* field, const std::vector<double>& given, const std::vector<double>& wanted, CheckOptions& options) {
  if (wanted == given) return;
  if (wanted.empty()) {
    options.leave_out.push_back(field);
  } else {
    options.add.emplace_back(field, short_list(wanted));
  }
}

class Alternatives {
 public:
  explicit Alternatives(const CheckInput& input) : input_(input), given_(given_way(input)) {}

  // Adds an alternative with this natural scale, mean and std.
  void add(const std::string& name, int complexity, double scale, std::vector<double> mean, std::vector<double> std) {
    Way way = given_;
    way.name = name;
    way.complexity = complexity;
    way.transform.scale = scale;
    way.transform.mean = std::move(mean);
    way.transform.std = std::move(std);
    if (!close(scale, input_.scale)) way.options.add.emplace_back("scale", shortest_text(scale));
    ask_for("mean", input_.preprocessing.mean, way.transform.mean, way.options);
    ask_for("std", input_.preprocessing.std, way.transform.std, way.options);
    if (same_values(way.transform, given_.transform)) return;
    for (const Way& other : ways_) {
      if (same_values(way.transform, other.transform)) return;
    }
    ways_.push_back(std::move(way));
  }

  std::vector<Way> take() { return std::move(ways_); }

 private:
  const CheckInput& input_;
  Way given_;
  std::vector<Way> ways_;
};

// Whether noise is in units of pixels in 0..1. If so, the scale does not change, and std maps pixels to the model's range.
bool noise_is_in_unit_range(const CheckInput& input) {
  return !input.sigmas.empty() && *std::max_element(input.sigmas.begin(), input.sigmas.end()) <= 1;
}

void add_pixel_ways(const CheckInput& input, const Values& values, const Shape& point, int axis, Alternatives& ways) {
  const double unit = 1 / values.full;
  const bool natural_unit = close(input.scale, unit);
  ways.add(kUnitPixels, 0, unit, {}, {});
  // For models that expect 0..255. If the natural unit is 0..1, a std of 1/255 does this.
  if (!(natural_unit && noise_is_in_unit_range(input))) ways.add("pixels in 0..255", 1, kByte * unit, {}, {});
  ways.add("pixels in 0..255", 1, unit, {}, {1 / kByte});
  const std::int64_t channels = point.size() == 3 ? point[axis] : 1;
  int complexity = 2;
  for (const Statistics& known : published(channels)) {
    ways.add(known.name, complexity, unit, known.mean, known.std);
    complexity = 3;
  }
}

bool all_alike(const Tensor& x) {
  const std::size_t d = x.data.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, x.shape[0]));
  return std::equal(x.data.begin() + static_cast<std::ptrdiff_t>(d), x.data.end(), x.data.begin());
}

void add_table_ways(const CheckInput& input, const Shape& point, int axis, Alternatives& ways) {
  if (input.scale == 1) ways.add("values as stored", 0, 1, {}, {});
  std::vector<double> mean, std;
  moments_of(input.x, point, axis, mean, std);
  if (all_alike(input.x)) return;  // standardisation would turn every point into zeros
  for (double& value : mean) value *= input.scale;
  for (double& value : std) value *= std::fabs(input.scale);
  constexpr std::size_t kMostColumns = 4096;
  if (mean.size() <= kMostColumns)
    ways.add(point.size() > 1 ? "channels standardised" : "columns standardised", 3, input.scale, mean, std);
}

// The axis of the colours of a point; for a flat point, determined by the input's shape.
Colours colours_of(const Way& given, const Shape& point, const Shape& input_shape) {
  if (point.size() == 3) {
    const int axis = looks_channels_last(point) ? 2 : given.transform.channel_axis;
    return {point[axis] == 3 ? row_major_strides(point)[axis] : 0};
  }
  const Shape axes = axes_of(input_shape);
  if (point.size() != 1 || axes.size() != 3 || given.transform.arrangement.permutes()) return {};
  return {axes[0] == 3 ? point[0] / 3 : axes[2] == 3 ? 1 : 0};
}

// Libraries differ in the order of colours: OpenCV and Caffe write BGR.
void add_reversed_colours(const CheckInput& input, std::vector<Way>& ways) {
  Way way = ways.front();
  way.transform.reverse = colours_of(way, point_of(input), input.input_shape);
  if (way.transform.reverse.stride == 0) return;
  way.name = "channels reversed";
  way.complexity = 1;
  way.remedy =
      "reverse the channels of the data, because they are RGB and the model takes BGR, or vice versa (in NumPy "
      "x[:, ::-1] if they are the first axis of a point, x[..., ::-1] if the last)";
  ways.push_back(std::move(way));
}

// Adds the other axis order for flat images: channels last instead of channels first, or the reverse.
void add_flat_order(const CheckInput& input, std::vector<Way>& ways) {
  const Shape axes = axes_of(input.input_shape);
  if (point_of(input).size() != 1 || axes.size() != 3 || ways.front().transform.arrangement.permutes()) return;
  const bool first = few_channels(axes[0]);
  if (first == few_channels(axes[2])) return;
  Way way = ways.front();
  const Shape view = first ? Shape{axes[1], axes[2], axes[0]} : Shape{axes[2], axes[0], axes[1]};
  way.transform.arrangement = {view, first ? std::vector<int>{2, 0, 1} : std::vector<int>{1, 2, 0}, first, ""};
  if (!way.transform.arrangement.permutes()) return;
  way.name = first ? "channels last" : "channels first";
  way.complexity = 1;
  way.remedy =
      "give the points as images of shape " + to_string(view) + ", which are then transposed to the input's " + to_string(axes);
  ways.push_back(std::move(way));
}

// The value of a white pixel, given the largest value of an image data set; 0 if unknown.
double full_of(double high) {
  constexpr double kPercent = 100;
  if (high <= kOver) return 1;
  if (high == kPercent) return kPercent;
  return high <= 2 || high > kShort ? 0 : high <= kByte ? kByte : kShort;
}

}  // namespace

Values values_of(const CheckInput& input) {
  Values values{INFINITY, -INFINITY};
  for (const float value : input.x.data) {
    if (!std::isfinite(value)) {
      values.finite = false;
      continue;
    }
    values.low = std::min(values.low, value);
    values.high = std::max(values.high, value);
    values.whole = values.whole && value == std::floor(value);
  }
  const bool any = values.low <= values.high;
  values.image = any && has_image_shape(point_of(input), input.input_shape, values);
  values.standardised = any && !values.image && columns_are_standardised(input.x);
  if (input.bytes && values.high > 1) {
    values.full = kByte;
  } else if (any && values.image && values.low >= 0) {
    values.full = full_of(values.high);
  }
  return values;
}

Way given_way(const CheckInput& input) {
  Way way{"as given", 0, {}, {}};
  const Shape point = point_of(input);
  way.transform.scale = input.scale;
  way.transform.mean = input.preprocessing.mean;
  way.transform.std = input.preprocessing.std;
  way.transform.arrangement = arrangement_of(point, input.input_shape, input.preprocessing.layout);
  way.transform.channel_axis = channel_axis(way.transform.arrangement, point, input.preprocessing);
  return way;
}

std::vector<Way> other_preprocessing(const CheckInput& input, const Values& values) {
  const Shape point = point_of(input);
  Alternatives ways(input);
  int axis = given_way(input).transform.channel_axis;
  if (point.size() == 3 && looks_channels_last(point)) axis = 2;
  if (values.full > 0) {
    add_pixel_ways(input, values, point, axis, ways);
  }
  if (side_of_square(point) > 0 && values.low < 0 && -values.low * std::fabs(input.scale) <= kOver &&
      values.high * std::fabs(input.scale) <= kOver)
    ways.add("pixels rescaled from -1..1 to 0..1", 1, input.scale, {-1}, {2});
  if (point.size() == 1 || (values.full == 0 && !point.empty())) add_table_ways(input, point, axis, ways);
  return ways.take();
}

std::vector<Way> other_layouts(const CheckInput& input, const Values& values) {
  std::vector<Way> ways{given_way(input)};
  const Shape point = point_of(input);
  if (values.image) {
    add_reversed_colours(input, ways);
    add_flat_order(input, ways);
  }
  for (const auto& [layout, name] :
       {std::pair(Layout::nchw, "nchw"), std::pair(Layout::nhwc, "nhwc"), std::pair(Layout::whcn, "whcn")}) {
    if (layout == Layout::nchw && input.preprocessing.layout == Layout::automatic) continue;
    Way way = ways.front();
    try {
      way.transform.arrangement = arrangement_of(point, input.input_shape, layout);
    } catch (const Error&) {
      continue;  // not possible with these shapes
    }
    const bool known = std::any_of(ways.begin(), ways.end(), [&](const Way& other) {
      return same_order(way.transform.arrangement, other.transform.arrangement);
    });
    if (known) continue;
    way.name = std::string("layout ") + name;
    way.complexity = 1;
    way.options.add.emplace_back("layout", name);
    ways.push_back(std::move(way));
  }
  ways.erase(ways.begin());
  return ways;
}

Way combined(const Way& preprocessing, const Way& layout) {
  Way way = preprocessing;
  way.name += ", " + layout.name;
  way.complexity += layout.complexity;
  way.transform.arrangement = layout.transform.arrangement;
  way.transform.reverse = layout.transform.reverse;
  way.remedy = layout.remedy;
  way.options.add.insert(way.options.add.end(), layout.options.add.begin(), layout.options.add.end());
  return way;
}

std::string short_list(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) {
    const std::string exact = shortest_text(value), brief = fmt::format("{:.6g}", value);
    text += (text.empty() ? "" : ",") + (exact.size() <= 6 || close(value, 1 / kByte) ? exact : brief);
  }
  return text;
}

}  // namespace probust
