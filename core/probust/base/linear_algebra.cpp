// SPDX-License-Identifier: MIT
#include "probust/base/linear_algebra.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

namespace probust {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd product(MatrixArgument a, MatrixArgument b) { return a * b; }

MatrixXd transposed_product(MatrixArgument a, MatrixArgument b) { return a.transpose() * b; }

MatrixXd product_with_transposed(MatrixArgument a, MatrixArgument b) { return a * b.transpose(); }

void product(const Eigen::MatrixXf& a, const Eigen::MatrixXf& b, Eigen::MatrixXf& result) { result.noalias() = a * b; }

void gram_of_rows(MatrixArgument a, Eigen::Ref<MatrixXd> result) { result.noalias() = a * a.transpose(); }

MatrixXd congruent(MatrixArgument a, MatrixArgument m) { return product_with_transposed(product(a, m), a); }

VectorXd times(MatrixArgument a, const VectorXd& x) { return a * x; }

VectorXd transposed_times(MatrixArgument a, const VectorXd& x) { return a.transpose() * x; }

Cholesky::Cholesky(MatrixArgument a) : factors_(a) {}

double Cholesky::reciprocal_condition() const { return factors_.rcond(); }

double Cholesky::log_determinant() const { return 2 * factors_.matrixLLT().diagonal().array().log().sum(); }

MatrixXd Cholesky::inverse() const { return solve(MatrixXd::Identity(factors_.rows(), factors_.rows())); }

MatrixXd Cholesky::inverse_upper() const {
  return factors_.matrixU().solve(MatrixXd::Identity(factors_.rows(), factors_.rows()));
}

MatrixXd Cholesky::solve(MatrixArgument b) const { return factors_.solve(b); }

VectorXd Cholesky::solve_vector(const VectorXd& b) const { return factors_.solve(b); }

MatrixXd Cholesky::solve_lower(MatrixArgument b) const { return factors_.matrixL().solve(b); }

bool cholesky_in_place(Eigen::Ref<MatrixXd> a) { return Eigen::LLT<Eigen::Ref<MatrixXd>>(a).info() == Eigen::Success; }

PivotedCholesky::PivotedCholesky(MatrixArgument a) : factors_(a) {}

MatrixXd PivotedCholesky::solve(MatrixArgument b) const { return factors_.solve(b); }

MatrixXd PivotedCholesky::root() const {
  const MatrixXd lower = factors_.matrixL();
  return factors_.transpositionsP().transpose() * (lower * factors_.vectorD().cwiseMax(0).cwiseSqrt().asDiagonal());
}

Spectrum symmetric_spectrum(MatrixArgument a) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(a);
  return {eigen.eigenvalues(), eigen.eigenvectors()};
}

VectorXd symmetric_eigenvalues(MatrixArgument a) {
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(a, Eigen::EigenvaluesOnly).eigenvalues();
}

MatrixXd orthonormal_basis(MatrixArgument a, double threshold) {
  Eigen::ColPivHouseholderQR<MatrixXd> qr(a);
  qr.setThreshold(threshold);
  return qr.householderQ() * MatrixXd::Identity(a.rows(), qr.rank());
}

}  // namespace probust
