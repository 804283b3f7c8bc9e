// SPDX-License-Identifier: MIT
#include "probust/check/transform.h"

#include <algorithm>

namespace probust {
namespace {

// The position of each element of a point in the model input.
std::vector<std::int64_t> positions_in_input(const Arrangement& arrangement, std::int64_t elements) {
  std::vector<std::int64_t> position(static_cast<std::size_t>(elements));
  if (!arrangement.permutes()) {
    for (std::int64_t e = 0; e < elements; ++e) position[e] = e;
    return position;
  }
  const Shape from = row_major_strides(arrangement.view), extents = arranged(arrangement.view, arrangement.order),
              to = row_major_strides(extents);
  for (std::int64_t e = 0; e < elements; ++e) {
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      const int source = arrangement.order[axis];
      at += e / from[source] % arrangement.view[source] * to[axis];
    }
    position[e] = at;
  }
  return position;
}

// Calls use(point, element, position in the input, mean, std) for all elements.
template <class Use>
void for_each_element(std::int64_t points, const Shape& point, const Transform& transform, Use use) {
  const std::int64_t d = element_count(point);
  const std::vector<std::int64_t> position = positions_in_input(transform.arrangement, d);
  const Shape strides = row_major_strides(point);
  for (std::int64_t from = 0; from < d; ++from) {
    const std::int64_t e = transform.reverse.reversed(from);
    const std::int64_t channel = point.empty() ? 0 : e / strides[transform.channel_axis] % point[transform.channel_axis];
    const double mean = value_of_channel(transform.mean, channel, 0), std = value_of_channel(transform.std, channel, 1);
    for (std::int64_t i = 0; i < points; ++i) use(i * d + from, i * d + position[e], mean, std);
  }
}

Tensor of_shape(std::int64_t points, const Shape& shape) {
  Shape all = shape;
  all.insert(all.begin(), points);
  return Tensor(all);
}

}  // namespace

double value_of_channel(const std::vector<double>& values, std::int64_t channel, double otherwise) {
  return values.empty() ? otherwise : values.size() == 1 ? values[0] : values[static_cast<std::size_t>(channel)];
}

Tensor transformed(const Tensor& stored, const Transform& transform, const Shape& input_shape) {
  const std::int64_t n = stored.shape[0];
  Tensor result = of_shape(n, input_shape);
  for_each_element(n, {stored.shape.begin() + 1, stored.shape.end()}, transform,
                   [&](std::int64_t from, std::int64_t to, double mean, double std) {
                     result.data[to] = static_cast<float>((stored.data[from] * transform.scale - mean) / std);
                   });
  return result;
}

Tensor transformed_back(const Tensor& inputs, const Transform& transform, const Shape& point_shape) {
  const std::int64_t n = inputs.shape[0];
  Tensor result = of_shape(n, point_shape);
  for_each_element(n, point_shape, transform, [&](std::int64_t to, std::int64_t from, double mean, double std) {
    result.data[to] = static_cast<float>((inputs.data[from] * std + mean) / transform.scale);
  });
  return result;
}

}  // namespace probust
