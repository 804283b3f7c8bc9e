// SPDX-License-Identifier: MIT
// Noise of perturbations, in four forms. MappedNoise is x' = T(x, z) as a graph, which is run on the processor to draw noise;
// an executor can run it in front of a classifier instead (NoiseShape::map), with the same draws of z. DrawnNoise calls the
// function of a family, CalledNoise calls a user's function, and Sequence applies several noises one after the other.
#include "probust/perturb/mapped_noise.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <numbers>
#include <numeric>
#include <utility>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/base/transpose.h"
#include "probust/exec/programs/program.h"
#include "probust/noise/sampled.h"
#include "probust/ops/build.h"

namespace probust::perturb {
namespace {

// Builds the graph and the distribution of its latents, stage by stage.
class MapBuilder {
 public:
  explicit MapBuilder(const Image& image) : image_(image) {}

  std::shared_ptr<const NoiseMap> map(const std::string& name, const std::vector<Stage>& stages,
                                      const std::optional<Quantization>& clip) {
    map_->latents = 0;
    for (const Stage& stage : stages) map_->latents += latents_of(stage);
    const std::int64_t unused = map_->latents == 0 ? 1 : 0;  // a graph needs a latent
    map_->latents += unused;
    const ValueId x = append_input(g_, image_.point, Extent::example, "x");
    z_ = append_input(g_, {map_->latents}, Extent::example, "z");
    planes_ = to_planes(g_, image_, x);
    const bool scaled = stages.size() == 1 && stages[0].scale;
    for (const Stage& stage : stages) {
      if (stage.own.latents > 0)
        add_own(stage, scaled);
      else
        stage.family == nullptr ? add_noise(stage.noise) : add_family(stage, scaled);
    }
    if (unused > 0) add_part({isotropic_gaussian(), 1}, 1, false);
    if (clip) clip_to(*clip);
    g_.outputs = {from_planes(g_, image_, planes_)};
    check(g_);
    const Noise& first = parts_.front().noise;
    map_->latent = parts_.size() == 1 && first.scale == 1 ? first.shape : mixture(parts_);
    for (NoisePart& part : parts_) {
      for (std::int64_t& column : part.columns.listed) column += image_.elements();
    }
    map_->on_points = mixture(parts_, name);
    return map_;
  }

 private:
  std::int64_t latents_of(const Stage& stage) const {
    if (stage.family != nullptr || stage.own.latents > 0) return random_parameters(stage);
    const auto map = stage.noise.shape->map();
    return map == nullptr ? image_.elements() : map->latents;
  }

  void add_part(const Noise& noise, std::int64_t count, bool parameters) {
    if (count == 0) return;
    Columns columns;
    for (std::int64_t k = 0; k < count; ++k) columns.listed.push_back(next_++);
    parts_.push_back({noise, std::move(columns), parameters});
  }

  ValueId latent(std::int64_t at, std::int64_t count) { return append(g_, Op::slice, {z_}, SliceAttributes{{at}, {count}, {1}}); }

  // Noise on the point as it is stored: additive, or with its own map.
  void add_noise(const Noise& noise) {
    if (const auto map = noise.shape->map()) return add_map(noise, *map);
    const ValueId z = latent(next_, image_.elements());
    planes_ = build::add(g_, planes_, to_planes(g_, image_, build::reshape(g_, z, image_.point)));
    add_part(noise, image_.elements(), false);
  }

  void add_map(const Noise& noise, const NoiseMap& own) {
    const Shape point = own.graph[own.graph.inputs().at(0)].shape;
    const ValueId x = build::reshape(g_, from_planes(g_, image_, planes_), point);
    const ValueId moved = append_function(g_, own.graph, {x, latent(next_, own.latents)});
    planes_ = to_planes(g_, image_, build::reshape(g_, moved, image_.point));
    add_part({own.latent, noise.scale}, own.latents, !noise.shape->parameters(image_.elements()).empty());
  }

  void add_family(const Stage& stage, bool scaled) {
    std::vector<ValueId> theta;
    std::int64_t at = next_;
    for (std::size_t k = 0; k < stage.theta.size(); ++k)
      theta.push_back(parameter(stage.theta[k], stage.family->parameters[k].link, at));
    const bool around_zero = stage.scale.has_value();  // where an even map has a zero derivative
    if (stage.family->even && around_zero) map_->flat += (map_->flat.empty() ? "" : ", ") + std::string(stage.family->name);
    planes_ = stage.family->map({g_, image_, planes_, theta, stage.border, stage.scale ? 1e30 : stage.theta[0].high});
    add_part({isotropic_gaussian(), stage.scale && !scaled ? *stage.scale : 1}, random_parameters(stage), true);
  }

  // The user's graph expects x and z in the shapes that it declares.
  void add_own(const Stage& stage, bool scaled) {
    const Graph& own = *stage.own.graph;
    const Shape x = own[own.inputs().at(0)].shape, z = own[own.inputs().at(1)].shape, moved = own[own.outputs.at(0)].shape;
    if (element_count(x) != image_.elements() || element_count(moved) != image_.elements())
      throw Error{ErrorCode::usage, "noise '" + stage.text + "'",
                  "maps points of shape " + to_string(x) + " to " + to_string(moved) + ", but the data's points have shape " +
                      to_string(image_.point),
                  "give a model that maps points of the data's shape to the same shape"};
    const ValueId point = build::reshape(g_, from_planes(g_, image_, planes_), x);
    const ValueId latents = distributed(latent(next_, stage.own.latents), stage.own.bounds);
    for (std::size_t k = 0; k < stage.own.bounds.size(); ++k) {
      if (stage.own.bounds[k]) map_->uniform.push_back(next_ + static_cast<std::int64_t>(k));
    }
    const ValueId mapped = append_function(g_, own, {point, build::reshape(g_, latents, z)});
    planes_ = to_planes(g_, image_, build::reshape(g_, mapped, image_.point));
    add_part({isotropic_gaussian(), scaled ? 1 : stage.scale.value_or(1)}, stage.own.latents, true);
  }

  // Standard normals [k]. Those that have bounds become uniform variables between these bounds.
  ValueId distributed(ValueId normals, const std::vector<LatentBounds>& bounds) {
    if (bounds.empty()) return normals;
    const Shape shape{std::ssize(bounds)};
    Tensor kept(shape), middle(shape), reach(shape);
    for (std::size_t k = 0; k < bounds.size(); ++k) {
      kept.data[k] = bounds[k] ? 0.0F : 1.0F;
      if (!bounds[k]) continue;
      const auto [low, high] = *bounds[k];
      middle.data[k] = static_cast<float>((low + high) / 2);
      reach.data[k] = static_cast<float>((high - low) / 2);
    }
    const auto times = [&](ValueId value, Tensor factors) {
      return build::multiply(g_, value, append_constant(g_, std::move(factors)));
    };
    const ValueId uniform = build::add(g_, append_constant(g_, std::move(middle)), times(from_minus_one_to_one(normals), reach));
    return build::add(g_, times(normals, kept), uniform);
  }

  // Converts each standard normal to a uniform variable between -1 and 1.
  ValueId from_minus_one_to_one(ValueId normals) {
    const ValueId half_root = build::broadcast(g_, build::constant(g_, std::numbers::sqrt2_v<float> / 2), g_[normals].shape);
    return append(g_, Op::erf, {build::multiply(g_, normals, half_root)});
  }

  // The value of a parameter, a scalar. `at` is the position of the next latent.
  ValueId parameter(const Distribution& distribution, Link link, std::int64_t& at) {
    if (distribution.kind == Distribution::Kind::fixed) return build::constant(g_, static_cast<float>(distribution.low));
    if (distribution.kind == Distribution::Kind::uniform) map_->uniform.push_back(at);
    const ValueId t = build::reshape(g_, latent(at++, 1), {});
    if (distribution.kind == Distribution::Kind::uniform) {
      const auto low = static_cast<float>(distribution.low), width = static_cast<float>(distribution.high - distribution.low);
      const ValueId middle = build::constant(g_, low + width / 2);
      return build::add(g_, middle, build::multiply(g_, from_minus_one_to_one(t), build::constant(g_, width / 2)));
    }
    if (link == Link::exponential) return append(g_, Op::exp, {t});
    return link == Link::magnitude ? append(g_, Op::absolute, {t}) : t;
  }

  void clip_to(const Quantization& clip) {
    const auto bound = [&](double value) {
      return build::broadcast(g_, build::constant(g_, static_cast<float>(value)), image_.planes());
    };
    planes_ = append(g_, Op::minimum, {append(g_, Op::maximum, {planes_, bound(clip.low)}), bound(clip.high)});
  }

  const Image& image_;
  std::shared_ptr<NoiseMap> map_ = std::make_shared<NoiseMap>();
  Graph& g_ = map_->graph;
  ValueId z_ = kNoValue, planes_ = kNoValue;
  std::int64_t next_ = 0;  // position of the next latent
  std::vector<NoisePart> parts_;
};

std::vector<std::int64_t> first_numbers(std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// A program with workspaces for the threads that run it.
class SharedProgram {
 public:
  explicit SharedProgram(const Graph& graph) : program_(compile_on_processor(graph)) {}

  void run(std::int64_t lanes, std::span<const float* const> inputs, float* output) const {
    std::unique_ptr<Workspace> workspace = taken();
    program_->run({lanes, 1}, inputs, std::span(&output, 1), *workspace);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

 private:
  std::unique_ptr<Workspace> taken() const {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Workspace>();
    std::unique_ptr<Workspace> workspace = std::move(idle_.back());
    idle_.pop_back();
    return workspace;
  }

  std::unique_ptr<Program> program_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

// The common base of the noise in this file.
class PerturbedNoise : public SampledNoise {
 public:
  explicit PerturbedNoise(NoiseName name) : SampledNoise(name.name), name_(std::move(name)) {}

  std::string name() const final { return name_.name + name_.suffix; }
  std::string text(double scale) const final { return name_.text(scale); }
  bool one_parameter() const final { return name_.scaled; }
  bool in_data_units() const final { return false; }
  bool additive() const final { return false; }

 private:
  NoiseName name_;
};

class MappedNoise final : public PerturbedNoise {
 public:
  MappedNoise(NoiseName name, std::shared_ptr<const NoiseMap> map, bool fixed)
      : PerturbedNoise(std::move(name)), map_(std::move(map)), fixed_(fixed), program_(map_->graph) {}

  bool fixed() const override { return fixed_; }
  bool mirrored() const override { return map_->latent->mirrored(); }
  bool differs() const override { return map_->latent->differs(); }
  std::shared_ptr<const NoiseMap> map() const override { return map_; }
  void fit(std::int64_t, std::int64_t points) const override { map_->latent->fit(map_->latents, points); }
  std::optional<std::int64_t> normals(std::int64_t) const override { return map_->latent->normals(map_->latents); }
  std::vector<std::int64_t> parameters(std::int64_t elements) const override {
    return map_->on_points->parameters(elements + map_->latents);
  }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    std::vector<float> z(static_cast<std::size_t>(map_->latents) * lanes.points.size(), 0.0F);
    map_->latent->add(lanes, map_->latents, scale, z.data());
    apply(elements, static_cast<std::int64_t>(lanes.points.size()), z.data(), x);
  }

  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    std::vector<float> z(static_cast<std::size_t>(map_->latents) * points.size(), 0.0F);
    map_->latent->add_normals(points, map_->latents, scale, w, z.data());
    apply(elements, static_cast<std::int64_t>(points.size()), z.data(), x);
  }

 private:
  void apply(std::int64_t elements, std::int64_t lanes, const float* z, float* x) const {
    std::vector<float> moved(static_cast<std::size_t>(elements * lanes));
    program_.run(lanes, std::array<const float*, 2>{x, z}, moved.data());
    std::copy(moved.begin(), moved.end(), x);
  }

  std::shared_ptr<const NoiseMap> map_;
  bool fixed_;
  SharedProgram program_;
};

// Noise drawn by the function of a family, lane by lane, on planes.
class DrawnNoise final : public PerturbedNoise {
 public:
  DrawnNoise(NoiseName name, Stage stage, const Image& image)
      : PerturbedNoise(std::move(name)), stage_(std::move(stage)), image_(image) {}

  bool fixed() const override { return !stage_.family->draws && random_parameters(stage_) == 0; }
  bool mirrored() const override { return false; }
  bool continuous() const override { return false; }
  std::optional<std::int64_t> normals(std::int64_t) const override {
    return stage_.family->draws ? std::nullopt : std::optional(std::max<std::int64_t>(1, random_parameters(stage_)));
  }
  std::vector<std::int64_t> parameters(std::int64_t) const override { return first_numbers(random_parameters(stage_)); }

  void add(const NoiseLanes& lanes, std::int64_t, float scale, float* x) const override {
    const std::int64_t normals = random_parameters(stage_);
    std::vector<float> z(static_cast<std::size_t>(normals) * lanes.points.size(), 0.0F);
    if (normals > 0) isotropic_gaussian()->add(lanes, normals, 1, z.data());
    NoiseLanes own = lanes;
    own.stream += kOwnStream;
    draw(own, scale, z.data(), x);
  }

  void add_normals(std::span<const std::uint32_t> points, std::int64_t, float scale, const float* w, float* x) const override {
    const std::vector<std::uint32_t> samples(points.size(), 0);  // not used: the family draws nothing
    draw({0, points, samples, 0}, scale, w, x);
  }

 private:
  static constexpr std::uint32_t kOwnStream = 1U << 7;  // separate from the stream of the parameters' draws

  // Draws a few neighbouring lanes at once, so that a cache line of x is read once for all of them.
  void draw(const NoiseLanes& lanes, double scale, const float* z, float* x) const {
    constexpr std::int64_t kBlock = 16, kBlockElements = 1 << 20;
    const auto count = static_cast<std::int64_t>(lanes.points.size()), normals = random_parameters(stage_);
    const std::int64_t elements = image_.elements(), block = std::clamp<std::int64_t>(kBlockElements / elements, 1, kBlock);
    std::vector<float> planes(static_cast<std::size_t>(elements * std::min(block, count))),
        own(static_cast<std::size_t>(normals));
    for (std::int64_t first = 0; first < count; first += block) {
      const std::int64_t width = std::min(block, count - first);
      for_each_element([&](std::int64_t plane, std::int64_t stored) {
        for (std::int64_t i = 0; i < width; ++i) planes[i * elements + plane] = x[stored * count + first + i];
      });
      for (std::int64_t i = 0; i < width; ++i) {
        const std::int64_t lane = first + i;
        for (std::int64_t k = 0; k < normals; ++k) own[k] = z[k * count + lane];
        NoiseStream random(lanes.seed, lanes.points[lane], lanes.samples[lane], lanes.stream);
        stage_.family->draw({image_, parameters_of(stage_, own, stage_.scale ? scale : 1), random},
                            std::span(planes).subspan(i * elements, elements));
      }
      for_each_element([&](std::int64_t plane, std::int64_t stored) {
        for (std::int64_t i = 0; i < width; ++i) x[stored * count + first + i] = planes[i * elements + plane];
      });
    }
  }

  // Calls visit(element of the planes, element of the point).
  template <class Visit>
  void for_each_element(const Visit& visit) const {
    const std::int64_t pixels = image_.pixels();
    for (std::int64_t c = 0; c < image_.channels; ++c) {
      for (std::int64_t i = 0; i < pixels; ++i)
        visit(c * pixels + i, image_.channels_last ? i * image_.channels + c : c * pixels + i);
    }
  }

  Stage stage_;
  Image image_;
};

// Noise computed by a user's function, which is called with x [lanes, ...] and z [lanes, k].
class CalledNoise final : public PerturbedNoise {
 public:
  CalledNoise(NoiseName name, OwnPerturbation own, const Image& image)
      : PerturbedNoise(std::move(name)), own_(std::move(own)), point_(image.point) {}

  bool mirrored() const override { return true; }
  std::optional<std::int64_t> normals(std::int64_t) const override { return own_.latents; }
  std::vector<std::int64_t> parameters(std::int64_t) const override { return first_numbers(own_.latents); }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    std::vector<float> z(static_cast<std::size_t>(own_.latents) * lanes.points.size(), 0.0F);
    isotropic_gaussian()->add(lanes, own_.latents, scale, z.data());
    call(elements, static_cast<std::int64_t>(lanes.points.size()), z.data(), 1, x);
  }

  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    call(elements, static_cast<std::int64_t>(points.size()), w, scale, x);
  }

 private:
  void call(std::int64_t elements, std::int64_t lanes, const float* w, float scale, float* x) const {
    Shape shape = point_;
    shape.insert(shape.begin(), lanes);
    Tensor points(shape), z({lanes, own_.latents});
    transpose(x, elements, lanes, points.data.data());
    transpose(w, own_.latents, lanes, z.data.data());
    for (float& value : z.data) value *= scale;
    const Tensor moved = own_.function(std::move(points), std::move(z));
    if (moved.shape != shape)
      throw Error{ErrorCode::usage, name(), "returned an array of shape " + to_string(moved.shape), "return " + to_string(shape)};
    transpose(moved.data.data(), lanes, elements, x);
  }

  OwnPerturbation own_;
  Shape point_;
};

class Sequence final : public PerturbedNoise {
 public:
  Sequence(NoiseName name, std::vector<Noise> parts) : PerturbedNoise(std::move(name)), parts_(std::move(parts)) {}

  bool mirrored() const override { return false; }
  bool fixed() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const Noise& part) { return part.shape->fixed(); });
  }
  bool differs() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const Noise& part) { return part.shape->differs(); });
  }
  void fit(std::int64_t elements, std::int64_t points) const override {
    for (const Noise& part : parts_) part.shape->fit(elements, points);
  }
  bool continuous() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const Noise& part) { return part.shape->continuous(); });
  }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    NoiseLanes own = lanes;
    for (const Noise& part : parts_) {
      part.shape->add(own, elements, scale * static_cast<float>(part.scale), x);
      own.stream += kStreams;
    }
  }

  std::optional<std::int64_t> normals(std::int64_t elements) const override {
    std::int64_t sum = 0;
    for (const Noise& part : parts_) {
      const auto own = part.shape->normals(elements);
      if (!own) return std::nullopt;
      if (!part.shape->fixed()) sum += *own;
    }
    return std::max<std::int64_t>(1, sum);
  }

  std::vector<std::int64_t> parameters(std::int64_t elements) const override {
    std::vector<std::int64_t> all;
    std::int64_t next = 0;
    for (const Noise& part : parts_) {
      if (part.shape->fixed()) continue;
      for (const std::int64_t own : part.shape->parameters(elements)) all.push_back(next + own);
      next += part.shape->normals(elements).value_or(0);
    }
    return all;
  }

  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    for (const Noise& part : parts_) {
      const std::int64_t count = *part.shape->normals(elements) * static_cast<std::int64_t>(points.size());
      const std::vector<float> unused(part.shape->fixed() ? static_cast<std::size_t>(count) : 0, 0.0F);
      part.shape->add_normals(points, elements, scale * static_cast<float>(part.scale), unused.empty() ? w : unused.data(), x);
      if (unused.empty()) w += count;
    }
  }

 private:
  static constexpr std::uint32_t kStreams = 1U << 16;  // parts use streams that are multiples of this
  std::vector<Noise> parts_;
};

}  // namespace

std::string NoiseName::text(double scale) const { return (scaled ? name + ":" + shortest_text(scale) : name) + suffix; }

std::shared_ptr<const NoiseShape> mapped_noise(const NoiseName& name, std::vector<Stage> stages, const Image& image,
                                               const std::optional<Quantization>& clip) {
  const bool fixed = std::all_of(stages.begin(), stages.end(), [](const Stage& stage) {
    if (stage.family != nullptr) return random_parameters(stage) == 0;
    return stage.own.latents == 0 && stage.noise.shape->fixed();
  });
  return std::make_shared<const MappedNoise>(name, MapBuilder(image).map(name.name, stages, clip), fixed);
}

std::shared_ptr<const NoiseShape> drawn_noise(const NoiseName& name, Stage stage, const Image& image) {
  return std::make_shared<const DrawnNoise>(name, std::move(stage), image);
}

std::shared_ptr<const NoiseShape> called_noise(const NoiseName& name, OwnPerturbation own, const Image& image) {
  return std::make_shared<const CalledNoise>(name, std::move(own), image);
}

std::shared_ptr<const NoiseShape> noise_sequence(const NoiseName& name, std::vector<Noise> parts) {
  return std::make_shared<const Sequence>(name, std::move(parts));
}

}  // namespace probust::perturb
