// SPDX-License-Identifier: MIT
// The experiment of Scher and Trügler, "Testing robustness of predictions of trained classifiers against naturally occurring
// perturbations", section 4.1: does the distance d to the nearest counterfactual predict the probability p that an answer
// survives noise? Iris with a random forest, Ionosphere with a network of two layers of 256; Gaussian noise whose covariance has
// trace 1 (the identity's or a random one's) at several scales; points in units of each feature's standard deviation.
//
// Usage: natural_noise [--copies N], with N noisy copies per point (default 2000). Reads data/iris.csv, data/ionosphere.csv and
// models/gausstheboss_rf_iris.onnx in the folder that PROBUST_SHARED names (default: ../shared).
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "probust/analysis/boundary.h"
#include "probust/analysis/statistics.h"
#include "probust/estimators/estimator.h"
#include "probust/onnx/import.h"
#include "probust/onnx/preprocess.h"
#include "probust/train/models.h"
#include "probust/train/trainer.h"

namespace {

using namespace probust;  // NOLINT(google-build-using-namespace): a small program over one library

struct Scaling {
  std::vector<double> mean, deviation;  // of each column
};

Scaling scaling_of(const Tensor& x) {
  const std::int64_t n = x.shape[0], d = x.shape[1];
  Scaling s{std::vector<double>(d, 0.0), std::vector<double>(d, 0.0)};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t e = 0; e < d; ++e) s.mean[e] += x.row(i)[e] / static_cast<double>(n);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t e = 0; e < d; ++e) s.deviation[e] += std::pow(x.row(i)[e] - s.mean[e], 2) / static_cast<double>(n);
  }
  for (double& v : s.deviation) v = v > 0 ? std::sqrt(v) : 1.0;
  return s;
}

// Columns from `first` on, in units of their standard deviations.
Tensor standardized(const Tensor& x, std::int64_t first, const Scaling& s) {
  Tensor z({x.shape[0], x.shape[1] - first});
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    for (std::int64_t e = first; e < x.shape[1]; ++e) {
      z.row(i)[e - first] = static_cast<float>((x.row(i)[e] - s.mean[e]) / s.deviation[e]);
    }
  }
  return z;
}

// Every third row for testing, or the remaining two thirds.
Tensor third(const Tensor& x, bool testing, std::vector<std::int64_t>* labels) {
  std::vector<float> values;
  std::vector<std::int64_t> kept;
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    if ((i % 3 == 2) != testing) continue;
    values.insert(values.end(), x.row(i).begin(), x.row(i).end());
    kept.push_back((*labels)[i]);
    ++rows;
  }
  *labels = kept;
  return Tensor({rows, x.shape[1]}, values);
}

// C = AᵀA with normal A, or the identity, scaled to trace 1.
std::shared_ptr<const NoiseShape> covariance(std::int64_t d, bool random) {
  NoiseArray C{{d, d}, std::vector<double>(static_cast<std::size_t>(d * d), 0.0), "covariance"};
  if (random) {
    NoiseStream stream(20231, 0, 0, 0);
    std::vector<double> A(C.values.size());
    for (double& a : A) a = stream.normal();
    for (std::int64_t i = 0; i < d; ++i) {
      for (std::int64_t j = 0; j < d; ++j) {
        for (std::int64_t k = 0; k < d; ++k) C.values[i * d + j] += A[k * d + i] * A[k * d + j];
      }
    }
  } else {
    for (std::int64_t i = 0; i < d; ++i) C.values[i * d + i] = 1;
  }
  double trace = 0;
  for (std::int64_t i = 0; i < d; ++i) trace += C.values[i * d + i];
  for (double& c : C.values) c /= trace;
  return covariance_gaussian(C, random ? "gaussian:random" : "gaussian:identity");
}

std::vector<double> kept(Evaluation& evaluation, const std::shared_ptr<const NoiseShape>& shape, double scale,
                         const std::string& copies) {
  const std::vector<Estimate> estimates = estimate(evaluation, {shape, scale}, parse_estimator("mc:" + copies)).value();
  std::vector<double> p;
  for (const Estimate& each : estimates) p.push_back(each.p);
  return p;
}

void experiment(const char* title, const Graph& classifier, const Tensor& x, bool gradients, const std::string& copies) {
  const auto executor = make_executor("cpu", classifier, {.threads = 2}).value();
  Points points{x, {}, {}, 1};
  const Tensor logits = executor->logits(x).value();
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    points.index.push_back(i);
    points.target.push_back(argmax(logits.row(i)));
  }
  std::vector<double> distance;
  const auto nearest = gradients ? nearest_boundary(*executor, points) : nearest_boundary_black_box(*executor, points);
  for (const NearestBoundary& each : nearest.value()) distance.push_back(each.distance);

  std::printf("\n%s: %lld test points, d = %lld, %s copies a point\n", title, static_cast<long long>(x.shape[0]),
              static_cast<long long>(x.shape[1]), copies.c_str());
  std::printf("            identity                            random covariance\n");
  std::printf("  scale     mean p  p > .999  r(p,d)  rho(p,d)   mean p  r(p,d)  rho(p,d)  r(identity,random)\n");
  Evaluation evaluation(*executor, points, logits);
  const auto identity = covariance(x.shape[1], false), random = covariance(x.shape[1], true);
  for (const double scale : {0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0}) {
    const auto p = kept(evaluation, identity, scale, copies), r = kept(evaluation, random, scale, copies);
    const auto sure = std::count_if(p.begin(), p.end(), [](double each) { return each > 0.999; });
    const Agreement identity_distance = agreement(p, distance), random_distance = agreement(r, distance);
    std::printf("  %5.2f     %.3f   %4.0f %%   %6.3f   %6.3f     %.3f  %6.3f   %6.3f     %6.3f\n", scale, mean_interval(p).mean,
                100.0 * static_cast<double>(sure) / static_cast<double>(p.size()), identity_distance.pearson,
                identity_distance.spearman, mean_interval(r).mean, random_distance.pearson, random_distance.spearman,
                pearson(p, r));
  }
}

void iris(const std::filesystem::path& folder, const std::string& copies) {
  Dataset data = read_dataset((folder / "data" / "iris.csv").string(), {}).value();
  const Scaling s = scaling_of(data.x);
  std::ifstream file(folder / "models" / "gausstheboss_rf_iris.onnx", std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const Model model = import_onnx(std::as_bytes(std::span(bytes))).value();
  Preprocessing back;  // the forest takes centimetres: (z - mean) / std with mean = -m / s and std = 1 / s is z s + m
  for (std::size_t e = 0; e < s.mean.size(); ++e) {
    back.mean.push_back(-s.mean[e] / s.deviation[e]);
    back.std.push_back(1 / s.deviation[e]);
  }
  const Tensor x = third(standardized(data.x, 0, s), true, &data.labels);
  experiment("Iris, random forest (three classes)", with_preprocessing(model, {x.shape[1]}, back).value(), x, false, copies);
}

void ionosphere(const std::filesystem::path& folder, const std::string& copies) {
  Dataset data = read_dataset((folder / "data" / "ionosphere.csv").string(), {}).value();
  std::vector<std::int64_t> test_labels = data.labels;
  const Tensor z = standardized(data.x, 2, scaling_of(data.x));  // the first two features are categories
  const Tensor x = third(z, false, &data.labels), test = third(z, true, &test_labels);
  Trainer trainer(mlp({x.shape[1]}, {256, 256}, 2), x, data.labels);
  const std::vector<double> loss = trainer.epochs(30, {.rate = 1e-3, .decay = 1e-4});
  const Tensor logits = make_executor("cpu", trainer.classifier(), {}).value()->logits(test).value();
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < test.shape[0]; ++i) right += argmax(logits.row(i)) == test_labels[i] ? 1 : 0;
  std::printf("\nIonosphere: trained on %lld points, cross-entropy %.4f, test accuracy %.1f %%\n",
              static_cast<long long>(x.shape[0]), loss.back(),
              100.0 * static_cast<double>(right) / static_cast<double>(test.shape[0]));
  experiment("Ionosphere, network of two layers of 256", trainer.classifier(), test, true, copies);
}

}  // namespace

int main(int argc, char** argv) {
  const bool told = argc == 3 && std::strcmp(argv[1], "--copies") == 0;
  if (argc != 1 && !told) return std::fprintf(stderr, "usage: natural_noise [--copies N]\n"), 2;
  const std::string copies = told ? argv[2] : "2000";
  const char* shared = std::getenv("PROBUST_SHARED");
  const std::filesystem::path folder = shared != nullptr ? shared : "../shared";
  if (!std::filesystem::exists(folder / "data" / "iris.csv")) {
    std::printf("natural_noise: skipped: no data/iris.csv in %s; set PROBUST_SHARED\n", folder.c_str());
    return 77;
  }
  try {
    std::printf(
        "p: the share of noisy copies with the same answer. d: the distance to the nearest other answer.\n"
        "r: Pearson's correlation over the points. rho: Spearman's, of ranks. Where rho < 1, d ranks points otherwise than p.\n");
    iris(folder, copies);
    ionosphere(folder, copies);
  } catch (const Error& error) {
    return std::fprintf(stderr, "natural_noise: %s\n", error.message().c_str()), 3;
  }
}
