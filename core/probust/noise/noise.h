// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probust/base/tensor.h"
#include "probust/graph/graph.h"

namespace probust {

/// The largest number of noisy samples of a point: noise is keyed by 32-bit sample numbers.
inline constexpr std::int64_t kMostSamples = std::int64_t{1} << 31;

/// The draws to make: lane i gets sample samples[i] of point points[i]. The noise of a lane depends only on these numbers, the
/// seed and the stream.
struct NoiseLanes {
  std::uint64_t seed = 0;
  std::span<const std::uint32_t> points;
  std::span<const std::uint32_t> samples;
  std::uint32_t stream = 0;  ///< last counter word of the generator; differs between parts of a model
};

/// How estimators that assume Gaussian noise can use a model, and the reason if the noise is not Gaussian.
struct GaussianView {
  enum class Kind {
    exact,        ///< `whiten` describes the noise completely
    approximate,  ///< `whiten` describes a Gaussian approximation of the noise
    absent,       ///< there is no Gaussian approximation, so the noise can only be sampled
  };
  Kind kind = Kind::exact;
  std::string reason{};  ///< for the note of an estimate, such as "uniform noise approximated as Gaussian"
};

/// Noisy samples are clipped to [low, high] and, if levels > 1, rounded to the nearest of `levels` evenly spaced values of
/// this range (256: bytes). Sampling is exact. Estimators that assume Gaussian noise ignore both, and their rows say so.
struct Quantization {
  double low = 0, high = 1;
  std::int64_t levels = 0;
};

/// Noise with independent elements, in a form that a device can draw: element e of a noisy sample of point i is x[e] + s scale
/// z with a unit draw z, and then clipped. For points of d elements, s is deviations[e], deviations[i d + e] if `varies`, or 1
/// if there are no deviations.
struct ElementNoise {
  enum class Draw : std::uint8_t { normal, uniform, laplace };
  Draw draw = Draw::normal;
  float deviation = 1;  ///< standard deviation of a unit draw
  std::span<const float> deviations{};
  bool varies = false;
  std::optional<Quantization> range{};
};

/// The distribution of one element of a noisy sample at unit scale, if elements are independent: x + deviation z with a unit draw
/// z, and then clipped.
struct ElementLaw {
  ElementNoise::Draw draw = ElementNoise::Draw::normal;
  double deviation = 0;  ///< 0: no noise
  std::optional<Quantization> range{};
};

class NoiseShape;

/// Noise as a map x' = T(x, z), such as the rotation of an image by an angle z. An executor can run the map in front of a
/// classifier (Executor::after): both together are a classifier of points [x, z] with noise on z only, so every estimator
/// applies.
struct NoiseMap {
  Graph graph;                                  ///< (x of the point's shape, z [k]) -> x'
  std::int64_t latents = 0;                     ///< k
  std::shared_ptr<const NoiseShape> latent;     ///< the distribution of z around 0
  std::shared_ptr<const NoiseShape> on_points;  ///< the noise on points [x, z]: `latent` on z, none on x
  /// The names of the parts of the map that change nothing to first order at z = 0, such as a blur of width |z|; empty if
  /// there are none.
  std::string flat{};
  /// The elements of z that become parameters with uniform distributions: no value of such a parameter is more probable than
  /// another.
  std::vector<std::int64_t> uniform{};
};

/// The shape of a noise distribution at unit scale: how to draw from it, and how to turn margin gradients into a covariance.
/// There is one file per model; all_noise.cpp lists them.
class NoiseShape {
 public:
  virtual ~NoiseShape() = default;
  NoiseShape(const NoiseShape&) = delete;
  NoiseShape& operator=(const NoiseShape&) = delete;

  /// A number that no other shape in this process has. Names are not unique: two shapes with one name may have different
  /// arrays.
  std::uint64_t serial() const { return serial_; }

  /// Whether the scale is in the units of the data, so that it can be compared with their range.
  virtual bool in_data_units() const { return true; }

  /// Identifies the shape, e.g. "gaussian" or "gaussian:cov=FILE".
  virtual std::string name() const = 0;

  /// The canonical text at a scale.
  virtual std::string text(double scale) const;

  /// Whether the scale is its only parameter.
  virtual bool one_parameter() const { return true; }

  /// Makes x noisy: adds `scale` times one unit draw per lane to x, laid out [elements][lanes]. A negative scale gives the
  /// antithetic draws: for additive noise, the draws mirrored at x.
  virtual void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const = 0;

  /// Turns margin gradients U (laid out [elements][lanes], lane i at point points[i]) in place into U L, where L Lᵀ is the
  /// covariance at unit scale, so that their Gram matrix is the covariance of the linearised margins (Lemma 1 of Han et al.,
  /// appendix A.1 for U C Uᵀ). Returns the rank r: the result fills the first r rows; the rows after them are zero.
  virtual std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const = 0;

  /// Multiplies `variance`, laid out [elements][lanes], by the diagonal of the covariance at unit scale.
  virtual void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const = 0;

  virtual GaussianView gaussian() const { return {}; }

  /// Whether draws at a negative scale have the same distribution as at the positive one; the two are then an antithetic pair.
  virtual bool mirrored() const { return false; }

  /// Whether the draw at a negative scale is the draw at the positive scale, mirrored at x. One then determines the other.
  virtual bool additive() const { return mirrored(); }

  /// Whether the distribution depends on a point's position in the data, so that points cannot share draws.
  virtual bool differs() const { return false; }

  /// The number of independent standard normals of which the noise is a function, for a point of `elements` elements. The
  /// first rows of `whiten`, one per normal, are then derivatives with respect to these normals or, if the function is not
  /// linear, multiples of derivatives. Empty if the noise is not such a function.
  virtual std::optional<std::int64_t> normals(std::int64_t /*elements*/) const { return std::nullopt; }

  /// Which of these normals are the parameters of a perturbation, such as the angle of a rotation, ascending. The others are
  /// noise on single elements.
  virtual std::vector<std::int64_t> parameters(std::int64_t /*elements*/) const { return {}; }

  /// Whether the noise is a continuous function of its normals. Compression, which rounds, is not.
  virtual bool continuous() const { return true; }

  /// Adds to x [elements][lanes] the noise that belongs to the standard normals w [normals][lanes]: for Gaussian noise, scale
  /// L w.
  virtual void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                           float* x) const;

  /// The noise per element, if its elements are independent. Empty if they are not, or if devices do not support it.
  virtual std::optional<ElementNoise> by_element() const { return std::nullopt; }

  /// [elements] The distributions of the elements of a point's noisy samples, if elements are independent and these are known.
  virtual std::optional<std::vector<ElementLaw>> laws(std::uint32_t point, std::int64_t elements) const;

  /// The columns that the noise changes at a point of `elements` elements, ascending: all, unless the noise lists columns.
  virtual std::vector<std::int64_t> columns(std::int64_t elements) const;

  /// Throws Error{unreadable}, or Error{usage} for columns, if the model does not fit `points` points of `elements` elements.
  virtual void fit(std::int64_t elements, std::int64_t points) const;

  /// This noise for points of this shape, if it depends on more than their number of elements, as a rotation does; otherwise
  /// null. Noise that depends on the shape must be bound before it is drawn. Throws Error{usage} if it does not apply to such
  /// points.
  virtual std::shared_ptr<const NoiseShape> bound(const Shape& /*point*/) const { return nullptr; }

  /// Whether the noise depends on the data, as their covariance does. It must be given them before it is used (use_data).
  virtual bool needs_data() const { return false; }

  /// This noise for the data [N, ...] whose points get it; null if it does not depend on them.
  virtual std::shared_ptr<const NoiseShape> with_data(const Tensor& /*points*/) const { return nullptr; }

  /// Whether all samples of a point are the same, as with a fixed rotation.
  virtual bool fixed() const { return false; }

  /// Whether its samples should be clipped to [0, 1] if the data are in this range (clip_like_data).
  virtual bool clips_like_data() const { return false; }

  /// The map, if the noise is one that a graph can compute; otherwise null.
  virtual std::shared_ptr<const NoiseMap> map() const { return nullptr; }

  /// This noise with its samples clipped, if it clips them itself; null if `clipped` does.
  virtual std::shared_ptr<const NoiseShape> clipped_to(const Quantization& /*range*/) const { return nullptr; }

 protected:
  NoiseShape();

 private:
  std::uint64_t serial_;
};

/// A noise model: a shape and a scale. Everything that the shape determines is computed once for all scales.
struct Noise {
  std::shared_ptr<const NoiseShape> shape;
  double scale = 1;  ///< sigma, in the units of the natural space

  /// Canonical text, e.g. "gaussian:0.1".
  std::string text() const { return shape->text(scale); }
  /// The scale, if it is the only parameter of the shape.
  std::optional<double> sigma() const { return shape->one_parameter() ? std::optional(scale) : std::nullopt; }
};

/// The noise for points of this shape (NoiseShape::bound).
Noise bound(Noise noise, const Shape& point);

/// Gives the data [N, ...] to the noises that depend on them. `points` is called at most once, and only if one of them does.
/// The same data must be given for all parts of a run.
void use_data(std::span<Noise> noises, const std::function<Tensor()>& points);

/// The largest number of values of the data that noise looks at; of larger data, it gets evenly spread points.
inline constexpr std::int64_t kMostDataValues = std::int64_t{1} << 24;

/// The positions of the points that noise gets of `count` points of `elements` elements.
std::vector<std::int64_t> positions_for_noise(std::int64_t count, std::int64_t elements);

/// An array of numbers for a noise model, from any source.
struct NoiseArray {
  Shape shape;
  std::vector<double> values;  ///< row-major
  std::string where;           ///< the file, for messages
};

/// One feature with k values. It has one column per value, of which that of the present value is set, or one column that
/// contains the code of the present value.
struct Category {
  std::vector<std::int64_t> columns;  ///< [k], or [1] with codes
  std::vector<double> transitions;    ///< [k, k] row-major: the probability of each value, given the present one
  std::vector<double> codes{};        ///< [k], or none; the nearest code is the present value
  /// A number in another column that changes together with the value: add[i, j] is added if value i becomes j.
  struct Joint {
    std::int64_t column = 0;
    std::vector<double> add;  ///< [k, k] row-major
  };
  std::vector<Joint> joint{};
};

/// Independent draws of one distribution per element.
std::shared_ptr<const NoiseShape> isotropic_gaussian();  ///< standard deviation 1
std::shared_ptr<const NoiseShape> uniform_noise();       ///< on [-1, 1]: the scale is the half-width
std::shared_ptr<const NoiseShape> laplace_noise();       ///< density e^-|t| / 2: the scale is Laplace's

/// Independent draws of Student's t with this many degrees of freedom, at least 1; the scale multiplies t.
std::shared_ptr<const NoiseShape> student_noise(double freedom);

/// A deviation that is uniform in the Euclidean ball, or on the sphere, whose radius is the scale.
std::shared_ptr<const NoiseShape> ball_noise();
std::shared_ptr<const NoiseShape> sphere_noise();

/// `shape` with its scale divided by the square root of the number of elements d: "gaussian:0.3/sqrt(d)".
std::shared_ptr<const NoiseShape> per_root_of_elements(std::shared_ptr<const NoiseShape> shape);

/// Gaussian noise of standard deviation 1 along the last axis of a point, in which values k apart have the correlation
/// e^(-k / length). Rows of the last axis are independent.
std::shared_ptr<const NoiseShape> field_noise(double length);

/// Gaussian noise with the covariance of the data or, with `unit_trace`, this covariance divided by its trace.
std::shared_ptr<const NoiseShape> data_covariance(bool unit_trace);

/// Multiplies values by factors with standard normals z and the scale S: 1 + S z or e^(S z) for each value, or 1 + S z for
/// each row along the last axis.
std::shared_ptr<const NoiseShape> speckle_noise();
std::shared_ptr<const NoiseShape> lognormal_noise();
std::shared_ptr<const NoiseShape> gain_noise();

/// Adds the same numbers [d], or [N, d] for each point, to every sample.
std::shared_ptr<const NoiseShape> drift_noise(const NoiseArray& means, std::string name);

/// Replaces each value, independently with a probability, by a number or, without one, by the mean of its column in the data.
std::shared_ptr<const NoiseShape> missing_noise(double probability, std::optional<double> value);

/// Replaces each value, independently with a probability, by the value of a random point of the data in the same column.
std::shared_ptr<const NoiseShape> resampled_noise(double probability);

/// Replaces a stretch of a share of the last axis, at a random position that all rows have in common, by a number or, without
/// one, by the last value before the stretch.
std::shared_ptr<const NoiseShape> gap_noise(double share, std::optional<double> value);

/// Independent Gaussian noise with standard deviations [d] or, per point, [N, d]. Throws Error{unreadable} if one of them is
/// negative or not finite.
std::shared_ptr<const NoiseShape> diagonal_gaussian(const NoiseArray& deviations, std::string name);

/// Gaussian noise with covariance [d, d] or, per point, [N, d, d], which may be singular. Throws Error{unreadable} if a
/// covariance is not square, symmetric and finite, or has a negative eigenvalue.
std::shared_ptr<const NoiseShape> covariance_gaussian(const NoiseArray& covariances, std::string name);

/// Gaussian noise F w with factors F [d, r] or, per point, [N, d, r], w standard normal. Throws Error{unreadable} if a value
/// is not finite.
std::shared_ptr<const NoiseShape> factor_gaussian(const NoiseArray& factors, std::string name);

/// One of M recorded deviations [M, d] or, per point, [N, M, d], all equally likely. Estimators that assume Gaussian noise use
/// the Gaussian with mean zero and the same second moments. Throws Error{unreadable} if there are no deviations or a value is
/// not finite.
std::shared_ptr<const NoiseShape> recorded_noise(const NoiseArray& deviations, std::string name);

/// Features that change their values with given probabilities. Only sampling estimators support this noise. Throws
/// Error{unreadable} with `where` if a matrix does not consist of probabilities or columns repeat.
std::shared_ptr<const NoiseShape> categorical_noise(std::vector<Category> categories, std::string where);

/// Columns of a point: the listed ones, or all others.
struct Columns {
  std::vector<std::int64_t> listed;  ///< ascending
  bool all_but = false;
  std::string text() const;  ///< "0..3,7", "!4"
  std::vector<std::int64_t> of(std::int64_t elements) const;
};

/// Noise on some columns. The others have no noise.
std::shared_ptr<const NoiseShape> on_columns(std::shared_ptr<const NoiseShape> shape, Columns columns);

/// Different noise on different columns. If `name` is empty, the name lists the parts. Throws Error{usage} in `fit` if two
/// parts share a column.
struct NoisePart {
  Noise noise;
  Columns columns;
  bool parameters = false;  ///< whether its normals are the parameters of a perturbation (NoiseShape::parameters)
};
std::shared_ptr<const NoiseShape> mixture(std::vector<NoisePart> parts, std::string name = {});

/// Noise whose samples are clipped and, if the range has levels, rounded.
std::shared_ptr<const NoiseShape> clipped(std::shared_ptr<const NoiseShape> shape, Quantization range);

/// The same with a range for some columns, which must not overlap.
struct ColumnRange {
  Quantization range;
  Columns columns;
};
std::shared_ptr<const NoiseShape> clipped(std::shared_ptr<const NoiseShape> shape, std::vector<ColumnRange> ranges);

/// Parses "0,1" or, with ranges for columns, "0,1@0..3+0,9@4". Throws Error{usage} with `where`.
std::vector<ColumnRange> parse_ranges(const std::string& text, std::int64_t levels, const std::string& where);

/// The text of a noise without the range to which its samples are clipped: "rotate:10" for "rotate:10|clip:0,1".
std::string without_clipping(const std::string& noise);

/// Random numbers for one sample of one point.
class NoiseStream {
 public:
  NoiseStream(std::uint64_t seed, std::uint32_t point, std::uint32_t sample, std::uint32_t stream)
      : seed_(seed), point_(point), sample_(sample), stream_(stream) {}
  double uniform();  ///< in (0, 1)
  double normal();   ///< standard normal
 private:
  std::uint32_t word();
  std::uint64_t seed_;
  std::uint32_t point_, sample_, stream_, used_ = 0;
  std::array<std::uint32_t, 4> block_{};  // the words of the generator's last call
};

/// A sampler supplied by the user: draw(stream, scale, x) adds noise to x, the elements of one point. It must depend only on
/// its arguments. Only sampling estimators support it.
using Sampler = std::function<void(NoiseStream&, double scale, std::span<float> x)>;
std::shared_ptr<const NoiseShape> custom_noise(std::string name, Sampler draw);

/// The bounds of a uniform element of z; empty if the element is standard normal.
using LatentBounds = std::optional<std::pair<double, double>>;

/// A user's own perturbation x' = T(x, z) with k standard normals z: either a graph (x, z [.., k]) -> x', or a function that
/// returns x' for n noisy samples x [n, ...] and z [n, k]. The function may be called by several threads at once.
struct OwnPerturbation {
  std::shared_ptr<const Graph> graph{};
  std::function<Tensor(Tensor x, Tensor z)> function{};
  std::int64_t latents = 0;
  /// [k] The bounds of each z if the graph's z are not all normal, and the scale of the noise is then 1; otherwise empty.
  std::vector<LatentBounds> bounds{};
};

/// Reads the files that a noise text names, and looks up a user's own perturbation by name. All functions throw Error.
struct NoiseSource {
  std::function<NoiseArray(const std::string& path)> array;
  std::function<std::vector<Category>(const std::string& path)> categories;
  std::function<OwnPerturbation(const std::string& name)> perturbation{};
};

/// An additive noise model, described for lists.
struct AdditiveNoise {
  std::string_view name;
  std::string_view written;    ///< all forms, for hints: "gaussian:0.1, gaussian:cov=FILE ..."
  std::string_view example;    ///< one of these forms
  std::string_view summary;    ///< what it does to a point
  std::string_view parameter;  ///< what the number is, with its unit
  std::string_view identity;   ///< the number at which the noise changes nothing; empty if there is no such number
  std::string_view number;     ///< the meaning of a number after the name
  std::string_view deviation;  ///< the standard deviation of a value at scale S
  bool step = false;           ///< whether "A+B" applies A, then B, also if both change the same columns
};
std::vector<AdditiveNoise> additive_noise_models();

/// Whether a part of a sequence is noise that is applied as a step (AdditiveNoise::step).
bool is_step(const std::string& part);

/// Whether a text begins with the name of an additive noise model.
bool begins_with_additive_noise(const std::string& text);

/// How additive noise is written, for hints: "gaussian:0.1, ..., categorical:FILE.json".
std::string known_additive_noise();

/// The problem of a text that begins with no known name.
inline constexpr const char* kUnknownNoise = "is not a known noise model";

/// Parses "gaussian:0.1", "gaussian:cov=FILE", "gaussian:cov=FILE:0.5" (scaled), "samples:FILE", "uniform:0.1@0..3" (on
/// columns 0 to 3), "gaussian:0.1@!4,5+categorical:FILE.json" (disjoint columns; those of categorical noise are in its file).
/// Throws Error{usage} with a hint; scales must be positive and finite. parse_noise (perturb/noise_text.h) also parses
/// perturbations.
Noise parse_additive_noise(const std::string& text, const NoiseSource& source = {});

}  // namespace probust
