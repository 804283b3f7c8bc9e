// SPDX-License-Identifier: MIT
#include "probust/graph/attributes.h"

#include "probust/base/error.h"

namespace probust {
namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw Error{ErrorCode::unreadable, "a window", what, ""};
}

}  // namespace

Shape Window::output() const {
  const std::size_t rank = image.size();
  for (const Shape* part : {&kernel, &stride, &dilation, &pad_low, &pad_high}) {
    require(part->size() == rank, "has an image, a kernel, strides, dilations and pads of different ranks");
  }
  Shape result(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    require(kernel[i] >= 1 && stride[i] >= 1 && dilation[i] >= 1, "has a kernel, stride or dilation below 1");
    const std::int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
    const std::int64_t room = image[i] + pad_low[i] + pad_high[i] - reach;
    require(room >= 0, "has a kernel that spans " + std::to_string(reach) + " cells, but the padded image has only " +
                           std::to_string(image[i] + pad_low[i] + pad_high[i]));
    result[i] = room / stride[i] + 1;
  }
  return result;
}

}  // namespace probust
