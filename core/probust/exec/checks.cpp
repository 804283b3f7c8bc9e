// SPDX-License-Identifier: MIT
#include "probust/exec/checks.h"

#include <algorithm>
#include <iterator>

namespace probust {

void check_classifier(const Graph& graph) {
  if (graph.inputs().size() == 1 && graph.outputs.size() == 1 && graph[graph.outputs[0]].shape.size() == 1) return;
  throw Error{ErrorCode::usage, "the classifier", "does not map one input to one vector of logits",
              "give a graph with one input and one output of shape [C]"};
}

std::int64_t checked_rows(const Executor& executor, const Tensor& x) {
  const Shape per_point = x.shape.empty() ? Shape{} : Shape(x.shape.begin() + 1, x.shape.end());
  if (x.shape.empty() || element_count(per_point) != element_count(executor.point_shape())) {
    throw Error{ErrorCode::unreadable, "the data set", "has points of shape " + to_string(per_point),
                "give points of shape " + to_string(executor.point_shape())};
  }
  return x.shape[0];
}

void check(const Executor& executor, const Points& points, const NoiseShape& shape) {
  check(executor, points);
  const auto last = std::max_element(points.index.begin(), points.index.end());
  shape.fit(element_count(executor.point_shape()), last == points.index.end() ? 0 : *last + 1);
}

void check_pairs(const Executor& executor, const Points& points, const NoiseShape& shape, std::int64_t pairs) {
  check(executor, points, shape);
  if (!points.draws.empty() && std::ssize(points.draws) < pairs)
    throw Error{ErrorCode::usage, "the block",
                "has shared draws for only " + std::to_string(points.draws.size()) + " pairs of noisy samples",
                "give draws for " + std::to_string(pairs)};
}

void check(const Executor& executor, const Points& points) {
  (void)checked_rows(executor, points.x);
  require_equal_lengths(points);
  for (const std::int64_t target : points.target) {
    if (target < 0 || target >= executor.classes())
      throw Error{ErrorCode::usage, "target", "is class " + std::to_string(target) + ", which does not exist",
                  "give a class from 0 to " + std::to_string(executor.classes() - 1)};
  }
}

}  // namespace probust
