// SPDX-License-Identifier: MIT
#include "probust/exec/programs/external_engine.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "probust/base/error.h"
#include "probust/base/transpose.h"
#include "probust/passes/gradient_graphs.h"
#include "probust/passes/simplify.h"

namespace probust {
namespace {

constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

bool same(const ExternalEngine::Inputs& a, const ExternalEngine::Inputs& b) {
  return a.count == b.count && a.function == b.function && same_bits(a.values, b.values) &&
         same_bits(a.cotangents, b.cotangents) && same_bits(a.latents, b.latents);
}

std::int64_t outputs_of(const Graph& graph) { return element_count(graph[graph.outputs[0]].shape); }

class ExternalProgram final : public Program {
 public:
  ExternalProgram(ExternalEngine& external, const Graph& preparation, std::int64_t classes)
      : external_(external),
        prepare_(compile_eigen(simplify(preparation))),
        elements_(outputs_of(preparation)),
        classes_(classes) {}

  std::int64_t workspace_bytes(const Batch& batch) const override {
    return prepare_->workspace_bytes(batch) + 2 * elements_ * batch.examples * kFloat;
  }

  void run(const Batch& batch, std::span<const float* const> inputs, std::span<float* const> outputs, Workspace& workspace,
           Reuse) const override {
    std::vector<float> lanes(static_cast<std::size_t>(elements_ * batch.examples));
    float* prepared = lanes.data();
    prepare_->run(batch, inputs, std::span(&prepared, 1), workspace);
    ExternalEngine::Inputs asked{batch.examples, std::vector<float>(lanes.size())};
    transpose(prepared, elements_, batch.examples, asked.values.data());
    transpose(external_.ask(std::move(asked)).data(), batch.examples, classes_, outputs[0]);
  }

 private:
  ExternalEngine& external_;
  std::unique_ptr<Program> prepare_;
  std::int64_t elements_, classes_;
};

// Prepares the examples, requests their logits and the gradients with respect to the prepared inputs, and computes the gradients
// at the points from those.
class ExternalGradientProgram final : public Program {
 public:
  ExternalGradientProgram(ExternalEngine& external, const Graph& preparation, std::int64_t classes, std::int64_t most)
      : external_(external),
        prepare_(compile_eigen(simplify(preparation))),
        pull_back_(compile_eigen(gradient_graph(preparation))),
        elements_(outputs_of(preparation)),
        classes_(classes),
        most_(most) {}

  std::int64_t workspace_bytes(const Batch& batch) const override {
    const std::int64_t lanes = batch.examples * batch.seeds;
    return std::max(prepare_->workspace_bytes({batch.examples, 1}), pull_back_->workspace_bytes(batch)) +
           (2 * elements_ * batch.examples + 4 * elements_ * lanes + 2 * classes_ * lanes) * kFloat;
  }

  bool answers_later() const override { return true; }

  void run(const Batch& batch, std::span<const float* const> inputs, std::span<float* const> outputs, Workspace& workspace,
           Reuse) const override {
    const std::vector<float> examples = prepared(batch.examples, inputs[0], workspace);
    write_logits(batch, examples, outputs[0]);
    const std::vector<float> gradients = gradients_of(batch, examples, inputs[1]);
    const std::int64_t lanes = batch.examples * batch.seeds;
    std::vector<float> seeds(gradients.size()), again(gradients.size());
    transpose(gradients.data(), lanes, elements_, seeds.data());
    const float* pulled[] = {inputs[0], seeds.data()};
    float* results[] = {again.data(), outputs[1]};
    pull_back_->run(batch, pulled, results, workspace);
  }

 private:
  // The prepared inputs [examples, elements].
  std::vector<float> prepared(std::int64_t examples, const float* x, Workspace& workspace) const {
    std::vector<float> lanes(static_cast<std::size_t>(elements_ * examples)), rows(lanes.size());
    float* out = lanes.data();
    prepare_->run({examples, 1}, std::span(&x, 1), std::span(&out, 1), workspace);
    transpose(lanes.data(), elements_, examples, rows.data());
    return rows;
  }

  // Writes the logits of each example for all of its seeds.
  void write_logits(const Batch& batch, const std::vector<float>& examples, float* out) const {
    const std::vector<float>& logits = external_.ask({batch.examples, examples});
    for (std::int64_t c = 0; c < classes_; ++c) {
      for (std::int64_t s = 0; s < batch.seeds; ++s) {
        for (std::int64_t b = 0; b < batch.examples; ++b) *out++ = logits[b * classes_ + c];
      }
    }
  }

  // The gradients with respect to the prepared inputs, [lanes, elements]. `seeds` is [classes][lanes].
  std::vector<float> gradients_of(const Batch& batch, const std::vector<float>& examples, const float* seeds) const {
    const std::int64_t lanes = batch.examples * batch.seeds;
    std::vector<float> all;
    all.reserve(static_cast<std::size_t>(lanes * elements_));
    for (std::int64_t first = 0; first < lanes; first += most_) {
      ExternalEngine::Inputs asked{std::min(most_, lanes - first), {}};
      for (std::int64_t lane = first; lane < first + asked.count; ++lane) {
        const auto example = examples.begin() + lane % batch.examples * elements_;
        asked.values.insert(asked.values.end(), example, example + elements_);
        for (std::int64_t c = 0; c < classes_; ++c) asked.cotangents.push_back(seeds[c * lanes + lane]);
      }
      const std::vector<float>& some = external_.ask(std::move(asked));
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  ExternalEngine& external_;
  std::unique_ptr<Program> prepare_, pull_back_;
  std::int64_t elements_, classes_, most_;
};

}  // namespace

void ExternalEngine::answer(std::vector<float> values, std::int64_t classes) {
  if (!wanted_) throw Error{ErrorCode::usage, "logits", "are not expected now", "pass them only when step() requests them"};
  const std::int64_t count = wanted_->count;
  const bool of_model = wanted_->function.empty(), logits = of_model && wanted_->cotangents.empty();
  const std::int64_t width = logits ? classes : static_cast<std::int64_t>(wanted_->values.size()) / count;
  if (static_cast<std::int64_t>(values.size()) != count * width)
    throw Error{ErrorCode::usage,
                logits     ? "logits"
                : of_model ? "gradients"
                           : "samples",
                "have " + std::to_string(values.size()) + " values",
                "give " + std::to_string(width) + " for each of " + std::to_string(count) + " inputs"};
  answers_.push_back({std::move(*wanted_), std::move(values)});
  wanted_.reset();
  if (of_model) passes_ += count;
}

const std::vector<float>& ExternalEngine::ask(Inputs inputs) {
  for (const Answer& answer : answers_) {
    if (same(answer.inputs, inputs)) return answer.values;
  }
  const std::lock_guard lock(mutex_);
  if (!wanted_) wanted_ = std::move(inputs);
  throw interruption();
}

std::unique_ptr<Program> external_program(ExternalEngine& external, const Graph& preparation, std::int64_t classes) {
  return std::make_unique<ExternalProgram>(external, preparation, classes);
}

std::unique_ptr<Program> external_gradient_program(ExternalEngine& external, const Graph& preparation, std::int64_t classes,
                                                   std::int64_t most) {
  return std::make_unique<ExternalGradientProgram>(external, preparation, classes, most);
}

}  // namespace probust
