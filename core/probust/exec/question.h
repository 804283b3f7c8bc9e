// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "probust/base/error.h"
#include "probust/base/tensor.h"
#include "probust/exec/margins.h"
#include "probust/exec/points.h"
#include "probust/noise/noise.h"

// The questions to an executor, as values. Each question refers to its arguments, which must outlive the question, and names
// the type of its answer. N is the number of points, C is the number of classes, and m = C - 1 is the number of margins. (Fewer
// than m backwards per point may be enough: ExecutorFacts::backwards_to_linearize.)
namespace probust {

/// What is linearised: the classifier at the input, or its mean under the noise by moment propagation (moments/moments.h),
/// which is accurate at the scale of the noise.
enum class LinearizeAt { input, noise_mean };

/// Logits [N, C] at x [N, ...].
struct LogitsAt {
  using Answer = Tensor;
  const Tensor& x;
};

/// Calls `take(i, jacobian)` for each point in order, with the Jacobian of the logits [C, d], row-major.
struct JacobianAt {
  using Answer = std::monostate;
  using Take = std::function<void(std::int64_t, std::span<const float>)>;
  const Tensor& x;
  const Take& take;
};

/// The linearization at x. Costs one forward and m backwards per point.
struct LinearizeAtPoint {
  using Answer = std::vector<Linearization>;
  const Points& points;
  const NoiseShape& shape;
};

/// The classifier's mean under the noise, by Gaussian moment propagation (moments/moments.h), and its gradient at x: a
/// linearization that is accurate at the scale of the noise. Costs about two forwards and 2 m backwards per point.
/// Error{unsupported} if an operator has no moment rule.
struct LinearizeAtMean {
  using Answer = std::vector<Linearization>;
  const Points& points;
  const Noise& noise;
};

/// Margins and their gradients, averaged over `samples` noisy samples. Costs `samples` forwards and m times as many backwards.
struct LinearizeAveraged {
  using Answer = std::vector<Linearization>;
  const Points& points;
  const Noise& noise;
  std::int64_t samples;
};

/// The moments of the logits under the noise, by propagation as in LinearizeAtMean. Costs about three forwards per point.
/// Error{unsupported} if an operator has no moment rule, or the noise differs from point to point.
struct PropagateMoments {
  using Answer = std::vector<LogitMoments>;
  const Points& points;
  const Noise& noise;
};

/// Counts predictions among the noisy samples first .. first + samples - 1. A sample with a NaN logit counts for no class.
struct CountPredictions {
  using Answer = PredictionCounts;
  const Points& points;
  const Noise& noise;
  std::int64_t samples, first;
};

/// The margins of pairs first .. first + count - 1 of noisy samples of each point. Additive noise (noise.h) is drawn once per
/// pair. If points share draws, and the classifier begins with an affine layer that takes much of the time, that layer's product
/// with each draw is computed once for all points.
struct PairMargins {
  using Answer = std::vector<Pairs>;
  const Points& points;
  const Noise& noise;
  std::int64_t count, first;
};

/// Projects the noise of pairs 0 .. count - 1 on the gradients of the margins over `rivals` [N][k] (classes, not rows; k is the
/// same for every point), and computes the margins of pairs `known` .. count - 1. Costs 2 (count - known) forwards per point,
/// plus one forward and k backwards with LinearizeAt::input, or about twice that with LinearizeAt::noise_mean.
/// Error{unsupported} if an operator has no moment rule and `at` is noise_mean.
struct ProjectNoise {
  using Answer = std::vector<Projection>;
  const Points& points;
  const std::vector<std::vector<std::int64_t>>& rivals;
  const Noise& noise;
  std::int64_t count, known;
  LinearizeAt at;
};

using ExecutorQuestion = std::variant<LogitsAt, JacobianAt, LinearizeAtPoint, LinearizeAtMean, LinearizeAveraged,
                                      PropagateMoments, CountPredictions, PairMargins, ProjectNoise>;

/// One alternative for each type of answer.
using ExecutorAnswer = std::variant<Tensor, std::monostate, std::vector<Linearization>, std::vector<LogitMoments>,
                                    PredictionCounts, std::vector<Pairs>, std::vector<Projection>>;

/// Whether `Answering` can be called with each question of the variant and then returns a Result with that question's answer
/// type.
template <class Answering, class Variant>
inline constexpr bool kAnswersEach = false;
template <class Answering, class... Questions>
inline constexpr bool kAnswersEach<Answering, std::variant<Questions...>> =
    (std::is_invocable_r_v<Result<typename Questions::Answer>, Answering, const Questions&> && ...);

template <class Answering>
concept AnswersEveryQuestion = kAnswersEach<Answering, ExecutorQuestion>;

/// Answers a question with the overload for its type. A type without an overload is a compile error, so an executor that uses
/// this function handles every question.
template <AnswersEveryQuestion Answering>
Result<ExecutorAnswer> answer_by_type(const ExecutorQuestion& question, const Answering& answering) {
  return std::visit(
      [&]<class Asked>(const Asked& asked) -> Result<ExecutorAnswer> {
        Result<typename Asked::Answer> answer = answering(asked);
        if (!answer) return answer.error();
        return ExecutorAnswer(std::in_place_type<typename Asked::Answer>, std::move(answer).value());
      },
      question);
}

}  // namespace probust
