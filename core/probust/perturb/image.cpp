// SPDX-License-Identifier: MIT
#include "probust/perturb/image.h"

#include "probust/base/error.h"
#include "probust/ops/build.h"

namespace probust {
namespace {

bool may_be_channels(std::int64_t extent) { return extent == 1 || extent == 3 || extent == 4; }

// A single row or column of numbers is a list, not an image, but a single pixel is an image.
bool is_image(const Image& image) {
  const bool pixel = image.rows == 1 && image.columns == 1;
  return pixel ? image.channels <= 4 : image.rows > 1 && image.columns > 1;
}

Image arranged(const Shape& point) {
  if (point.size() == 2) return {1, point[0], point[1], point, false};
  if (point.size() != 3) return {1, 1, 0, point, false};
  if (may_be_channels(point[2]) && !may_be_channels(point[0])) return {point[2], point[0], point[1], point, true};
  return {point[0], point[1], point[2], point, false};
}

}  // namespace

Image image_of(const Shape& point, const std::string& where) {
  Image image = arranged(point);
  if (is_image(image)) return image;
  throw Error{ErrorCode::usage, where, "needs images, but the points have shape " + to_string(point),
              "give images of shape [rows, columns], [channels, rows, columns] or [rows, columns, channels]"};
}

ValueId to_planes(Graph& g, const Image& image, ValueId point) {
  if (image.channels_last) point = build::transpose(g, point, {2, 0, 1});
  return build::reshape(g, point, image.planes());
}

ValueId from_planes(Graph& g, const Image& image, ValueId planes) {
  if (image.channels_last) planes = build::transpose(g, planes, {1, 2, 0});
  return build::reshape(g, planes, image.point);
}

}  // namespace probust
