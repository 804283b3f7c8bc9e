// SPDX-License-Identifier: MIT
#include "probust/exec/host/margin_derivatives.h"

#include <algorithm>

#include "probust/autodiff/vjp.h"
#include "probust/base/transpose.h"
#include "probust/exec/host/host_memory.h"
#include "probust/passes/gradient_graphs.h"

namespace probust {
namespace {

// The inputs and outputs of a run have this many values per element of x: gradients, products and their seeds.
constexpr std::int64_t kValuesPerElement = 3;

// Rows [count][elements] as [elements][count]; empty if there are none.
std::vector<float> by_element(std::span<const float> rows, std::int64_t count, std::int64_t elements) {
  std::vector<float> result(rows.size());
  if (!rows.empty()) transpose(rows.data(), count, elements, result.data());
  return result;
}

// The seeds e_t - e_i of margins first .. first + batch.seeds - 1, as [C][seeds][examples].
std::vector<float> margin_seeds(std::span<const std::int64_t> targets, std::int64_t first, const Batch& batch,
                                std::int64_t classes) {
  std::vector<float> seeds(static_cast<std::size_t>(classes * batch.seeds * batch.examples), 0.0F);
  for (std::int64_t s = 0; s < batch.seeds; ++s) {
    for (std::int64_t b = 0; b < batch.examples; ++b) {
      const auto at = [&](std::int64_t c) -> float& { return seeds[(c * batch.seeds + s) * batch.examples + b]; };
      at(targets[b]) = 1;
      at(rival_of(first + s, targets[b])) = -1;
    }
  }
  return seeds;
}

}  // namespace

MarginDerivatives::MarginDerivatives(Executor& executor, LinearizeAt at)
    : executor_(executor), elements_(element_count(executor.point_shape())), classes_(executor.classes()) {
  const Graph& classifier = *executor.facts().classifier;
  const bool smoothed = at == LinearizeAt::noise_mean;
  gradient_ = compile_on_processor(smoothed ? smoothed_gradient_graph(classifier) : gradient_graph(classifier));
  if (smoothed || !is_piecewise_linear(classifier))
    hessian_ = compile_on_processor(smoothed ? smoothed_hessian_graph(classifier) : hessian_graph(classifier));
  const HostMemory memory(executor.options(), kValuesPerElement * elements_, classes_);
  batch_ = memory.gradient_batch(hessian_ ? *hessian_ : *gradient_, classes_ - 1);
  workspaces_.resize(static_cast<std::size_t>(memory.options().threads));
  for (Workspace& workspace : workspaces_) workspace.stop = &executor.progress.stop;
}

// The outputs of a run for margins first .. first + batch.seeds - 1.
struct MarginDerivatives::Run {
  std::int64_t first;
  Batch batch;
  std::vector<float> logits, gradients, products;  // [C | d | d][seeds][examples]
};

// Calls take(run) for one part of the margins after another. With w, the runs also have products.
template <class Take>
void MarginDerivatives::sweep(int worker, const Program& program, const Examples& examples, const std::vector<RowMatrix>* w,
                              const Take& take) {
  const std::int64_t margins = classes_ - 1;
  const std::vector<float> x = by_element(examples.x, examples.size(), elements_),
                           variances = by_element(examples.variances, examples.size(), elements_);
  for (std::int64_t first = 0; first < margins; first += batch_.seeds) {
    Run run{first, {examples.size(), std::min(batch_.seeds, margins - first)}, {}, {}, {}};
    const auto lanes = static_cast<std::size_t>(run.batch.examples * run.batch.seeds);
    const std::vector<float> seeds = margin_seeds(examples.targets, first, run.batch, classes_);
    run.logits.resize(static_cast<std::size_t>(classes_) * lanes);
    run.gradients.resize(static_cast<std::size_t>(elements_) * lanes);
    std::vector<const float*> in{x.data()};
    if (!examples.variances.empty()) in.push_back(variances.data());
    in.push_back(seeds.data());
    std::vector<float*> out{run.logits.data(), run.gradients.data()};
    std::vector<float> directions;
    if (w != nullptr) {
      directions.resize(run.gradients.size());
      run.products.resize(run.gradients.size());
      pack(*w, first, run.batch.seeds, directions.data());
      in.push_back(directions.data());
      out.push_back(run.products.data());
    }
    program.run(run.batch, in, out, workspaces_[worker]);
    executor_.progress.passes += run.batch.examples * ((first == 0 ? 1 : 0) + run.batch.seeds);
    take(run);
  }
}

std::vector<MarginGradients> MarginDerivatives::gradients(int worker, const Examples& examples) {
  std::vector<RowMatrix> rows(static_cast<std::size_t>(examples.size()), RowMatrix(classes_ - 1, elements_));
  std::vector<MarginGradients> result(rows.size(), {Eigen::VectorXd(classes_ - 1), {}});
  sweep(worker, *gradient_, examples, nullptr, [&](const Run& run) {
    unpack(run.gradients.data(), run.first, run.batch.seeds, rows);
    if (run.first > 0) return;
    const std::int64_t lanes = run.batch.examples * run.batch.seeds;
    for (std::int64_t b = 0; b < examples.size(); ++b)
      store_margins(run.logits.data() + b, lanes, examples.targets[b], result[b].margins);
  });
  for (std::size_t b = 0; b < rows.size(); ++b) result[b].gradients = std::move(rows[b]);
  return result;
}

std::vector<Eigen::VectorXd> MarginDerivatives::hessian_products(int worker, const Examples& examples,
                                                                 const std::vector<RowMatrix>& w) {
  std::vector<Eigen::VectorXd> sums(static_cast<std::size_t>(examples.size()), Eigen::VectorXd::Zero(elements_));
  if (!curved()) return sums;
  sweep(worker, *hessian_, examples, &w, [&](const Run& run) {
    for (std::int64_t e = 0; e < elements_; ++e) {
      const float* const products = run.products.data() + e * run.batch.seeds * run.batch.examples;
      for (std::int64_t s = 0; s < run.batch.seeds; ++s) {
        for (std::int64_t b = 0; b < run.batch.examples; ++b) sums[b][e] += double{products[s * run.batch.examples + b]};
      }
    }
  });
  return sums;
}

}  // namespace probust
