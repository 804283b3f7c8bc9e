// SPDX-License-Identifier: MIT
// The shape of a model's input for one example. If exactly one extent is symbolic, its axis is the batch, wherever it is.
// If several are symbolic, the first axis is the batch, and the data or the user determine the other extents.
#include "probust/onnx/input_shape.h"

#include <algorithm>
#include <optional>

#include "probust/base/error.h"
#include "probust/onnx/arrangement.h"

namespace probust::onnx {
namespace {

bool is_open(std::int64_t extent) { return extent <= 0; }

bool is_floating(const ValueInfo& input) {
  return input.type == "float32" || input.type == "float64" || input.type == "float16" || input.type == "bfloat16";
}

std::string open_shape_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "[" : ", ") + (is_open(extent) ? "?" : std::to_string(extent));
  return text + "]";
}

// The requested shape, if it agrees with the declared one.
Shape given_shape(const ValueInfo& input, const Shape& given) {
  bool fits = !input.has_shape || input.shape.size() == given.size();
  for (std::size_t i = 0; i < given.size(); ++i) {
    fits = fits && given[i] > 0;
    fits = fits && (!input.has_shape || is_open(input.shape[i]) || input.shape[i] == given[i]);
  }
  if (!fits) {
    throw Error{ErrorCode::usage, option("input_shape"),
                "is " + to_string(given) + ", which does not fit the input '" + input.name + "'",
                input.has_shape ? "give a shape that fits " + open_shape_text(input.shape) : "give only positive dimensions"};
  }
  return given;
}

// An example of a shape that fits a declared shape with symbolic extents, for hints.
std::string example_shape(const Shape& declared) {
  std::string text;
  bool batch = true;
  for (const std::int64_t extent : declared) {
    if (!text.empty()) text += ',';
    text += !is_open(extent) ? std::to_string(extent) : batch ? "1" : declared.size() == 4 ? "224" : "16";
    batch = batch && !is_open(extent);
  }
  return text;
}

// The axis orders to try. Channels move to the end only if the model fixes the last extent, and to the front only if it fixes the
// first extent after the batch.
std::vector<AxisOrder> orders_to_try(const Shape& point, Layout layout, const Shape& declared) {
  return axis_orders(point, layout, !declared.empty() && !is_open(declared.front()),
                     !declared.empty() && !is_open(declared.back()));
}

// Whether every extent equals the declared one, unless that is symbolic.
bool fits(const Shape& declared, const Shape& extents) {
  const auto same = [](std::int64_t wanted, std::int64_t extent) { return is_open(wanted) || wanted == extent; };
  return declared.size() == extents.size() && std::equal(declared.begin(), declared.end(), extents.begin(), same);
}

// Like fits(), but ignores extents of 1 on both sides and returns the fitted shape: [?, ?, 1] and [1, 28, 28] give [28, 28, 1].
std::optional<Shape> fitted_without_ones(Shape declared, const Shape& extents) {
  auto next = extents.begin();
  const auto pass_ones = [&] { next = std::find_if(next, extents.end(), [](std::int64_t extent) { return extent != 1; }); };
  for (std::int64_t& wanted : declared) {
    if (wanted == 1) continue;
    pass_ones();
    if (next == extents.end() || (!is_open(wanted) && wanted != *next)) return std::nullopt;
    wanted = *next++;
  }
  pass_ones();
  return next == extents.end() ? std::optional(declared) : std::nullopt;
}

// Infers a single symbolic extent from the number of values of a point, if the other extents divide it.
std::optional<Shape> fitted_by_count(Shape declared, std::int64_t values) {
  if (std::count_if(declared.begin(), declared.end(), is_open) != 1) return std::nullopt;
  const auto open = std::find_if(declared.begin(), declared.end(), is_open);
  *open = 1;
  const std::int64_t others = element_count(declared);
  if (values % others != 0) return std::nullopt;
  *open = values / others;
  return declared;
}

// The extents of the input's axes after the batch axis, for points of shape `point`; empty if they do not fit.
std::optional<Shape> fitted(const Shape& declared, const Shape& point, Layout layout) {
  const std::vector<AxisOrder> orders = orders_to_try(point, layout, declared);
  for (const AxisOrder& order : orders) {
    const Shape extents = arranged(point, order.order);
    if (fits(declared, extents)) return extents;
  }
  for (const AxisOrder& order : orders) {
    if (auto shape = fitted_without_ones(declared, arranged(point, order.order))) return shape;
  }
  if (declared.size() != 1 && point.size() != 1) return std::nullopt;
  return fitted_by_count(declared, element_count(point));
}

// The input's shape as determined by points of the data; empty if they do not determine it. Without a declared shape, this is a
// batch of 1 followed by the shape of a point.
std::optional<Shape> settled(const ValueInfo& input, const Shape& point, Layout layout) {
  if (!input.has_shape) {
    const std::vector<AxisOrder> orders = orders_to_try(point, layout, {});
    Shape shape = orders.empty() ? point : arranged(point, orders.front().order);
    shape.insert(shape.begin(), 1);
    return shape;
  }
  if (input.shape.empty()) return std::nullopt;
  if (!is_open(input.shape[0]) && fits(input.shape, point)) return point;  // without a batch
  auto shape = fitted({input.shape.begin() + 1, input.shape.end()}, point, layout);
  if (shape) shape->insert(shape->begin(), is_open(input.shape[0]) ? 1 : input.shape[0]);
  return shape;
}

// Throws an Error with the reason why an input's shape cannot be determined.
[[noreturn]] void refuse_open(const ValueInfo& input, const ImportOptions& options) {
  const std::string where = "input '" + input.name + "'";
  const std::string shape = open_shape_text(input.shape), points = to_string(options.data_shape);
  if (!input.has_shape)
    throw Error{ErrorCode::unsupported, where, "has no declared shape",
                "give one, such as " + option("input_shape") + " 1,3,224,224"};
  if (!options.data_shape.empty() && options.data_shape.size() + 1 == input.shape.size())
    throw Error{ErrorCode::unreadable, where, "has shape " + shape + ", but the points have shape " + points,
                "use data that fit the model, or another " + option("layout")};
  const std::string unsettled = options.data_shape.empty() ? "" : ", and points of shape " + points + " do not determine them";
  throw Error{ErrorCode::unsupported, where, "has dynamic dimensions besides the batch in its shape " + shape + unsettled,
              "give the shape of one example, such as " + option("input_shape") + " " + example_shape(input.shape)};
}

// The requested shape, if there is one. Otherwise the declared shape with batch 1, unless some of its extents are then still
// symbolic or it does not match the data.
Shape chosen_shape(const ValueInfo& input, const ImportOptions& options) {
  if (!options.input_shape.empty()) return given_shape(input, options.input_shape);
  const bool has_data = !options.data_shape.empty(), open = needs_data_shape(input);
  Shape one = input.shape;
  std::replace_if(one.begin(), one.end(), is_open, 1);
  const bool fixed = one == input.shape;
  if (!open && (fixed || !has_data || element_count(one) == element_count(options.data_shape))) return one;
  if (has_data) {
    if (auto shape = settled(input, options.data_shape, options.layout)) return *std::move(shape);
  }
  if (open) refuse_open(input, options);
  return one;  // preprocessing reports that the data do not fit
}

}  // namespace

Shape shape_of_one(const ValueInfo& input, const ImportOptions& options) {
  if (!is_floating(input)) {
    throw Error{ErrorCode::unsupported, "input '" + input.name + "'", "needs " + input.type + " values",
                "export the model with a floating-point input"};
  }
  Shape shape = chosen_shape(input, options);
  element_count(shape);  // rejects shapes that are too large
  return shape;
}

bool needs_data_shape(const ValueInfo& input) {
  return is_floating(input) && (!input.has_shape || std::count_if(input.shape.begin(), input.shape.end(), is_open) > 1);
}

}  // namespace probust::onnx
