// SPDX-License-Identifier: MIT
#include "probust/graph/attributes.h"

#include "probust/base/error.h"

namespace probust {
namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw Error{ErrorCode::unreadable, "window", what, ""};
}

}  // namespace

Shape Window::output() const {
  const std::size_t rank = image.size();
  for (const Shape* part : {&kernel, &stride, &dilation, &pad_low, &pad_high}) {
    require(part->size() == rank, "parts differ in rank");
  }
  Shape result(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    require(kernel[i] >= 1 && stride[i] >= 1 && dilation[i] >= 1, "kernel, stride and dilation must be at least 1");
    const std::int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
    const std::int64_t room = image[i] + pad_low[i] + pad_high[i] - reach;
    require(room >= 0, "a kernel reaching over " + std::to_string(reach) + " cells does not fit an image of " +
                           std::to_string(image[i]) + " with padding");
    result[i] = room / stride[i] + 1;
  }
  return result;
}

}  // namespace probust
