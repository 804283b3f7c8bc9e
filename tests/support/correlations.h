// SPDX-License-Identifier: MIT
//
// Correlation matrices and limits for tests of core/probust/normal.
#pragma once

#include <Eigen/Dense>
#include <random>
#include <vector>

namespace probust::test {

/// Random numbers for tests. Standard libraries generate them differently, so no test may depend on their values.
class Normals {
 public:
  explicit Normals(unsigned seed) : bits_(seed) {}
  double operator()() { return normal_(bits_); }

 private:
  std::mt19937 bits_;
  std::normal_distribution<double> normal_;
};

/// m rows of length 1 in `rank` dimensions, like the margin gradients of a network. The larger `common` is, the more similar
/// they are.
inline Eigen::MatrixXd random_factor(Eigen::Index m, Eigen::Index rank, Normals& normal, double common = 1.0) {
  Eigen::MatrixXd U(m, rank);
  for (Eigen::Index j = 0; j < rank; ++j) {
    const double shared = common * normal();
    for (Eigen::Index i = 0; i < m; ++i) U(i, j) = shared + normal();
  }
  return U.rowwise().normalized();
}

inline Eigen::MatrixXd random_factor(Eigen::Index m, Eigen::Index rank, unsigned seed, double common = 1.0) {
  Normals normal(seed);
  return random_factor(m, rank, normal, common);
}

/// U U^T with a diagonal of exactly 1.
inline Eigen::MatrixXd gram(const Eigen::MatrixXd& U) {
  Eigen::MatrixXd R = U * U.transpose();
  R.diagonal().setOnes();
  return R;
}

/// m equally spaced limits.
inline std::vector<double> spread(Eigen::Index m, double from, double to) {
  std::vector<double> z(static_cast<std::size_t>(m));
  for (Eigen::Index i = 0; i < m; ++i)
    z[i] = m == 1 ? from : from + (to - from) * static_cast<double>(i) / static_cast<double>(m - 1);
  return z;
}

}  // namespace probust::test
