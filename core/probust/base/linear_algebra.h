// SPDX-License-Identifier: MIT
// The dense linear algebra of estimators, analyses and normal probabilities: real column-major matrices in double precision.
// Eigen's products and decompositions are compiled only in linear_algebra.cpp, because each use takes seconds to compile. Code
// that only moves or scales elements uses Eigen's expressions directly.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace probust {

/// A matrix or a block of one; other expressions are evaluated into a temporary matrix.
using MatrixArgument = const Eigen::Ref<const Eigen::MatrixXd>&;

/// A B.
Eigen::MatrixXd product(MatrixArgument a, MatrixArgument b);
/// Aᵀ B.
Eigen::MatrixXd transposed_product(MatrixArgument a, MatrixArgument b);
/// A Bᵀ.
Eigen::MatrixXd product_with_transposed(MatrixArgument a, MatrixArgument b);
/// A B in single precision by Eigen's own kernel, as a baseline for the library's own kernels.
void product(const Eigen::MatrixXf& a, const Eigen::MatrixXf& b, Eigen::MatrixXf& result);
/// A Aᵀ, written to `result`. Allocates nothing.
void gram_of_rows(MatrixArgument a, Eigen::Ref<Eigen::MatrixXd> result);
/// A M Aᵀ.
Eigen::MatrixXd congruent(MatrixArgument a, MatrixArgument m);
/// A x.
Eigen::VectorXd times(MatrixArgument a, const Eigen::VectorXd& x);
/// Aᵀ x.
Eigen::VectorXd transposed_times(MatrixArgument a, const Eigen::VectorXd& x);

/// L Lᵀ = A for a symmetric positive definite A.
class Cholesky {
 public:
  explicit Cholesky(MatrixArgument a);

  /// Whether A is positive definite. The other functions require this.
  bool definite() const { return factors_.info() == Eigen::Success; }
  double reciprocal_condition() const;
  double log_determinant() const;
  Eigen::MatrixXd inverse() const;                               ///< A⁻¹
  Eigen::MatrixXd inverse_upper() const;                         ///< L⁻ᵀ
  Eigen::MatrixXd solve(MatrixArgument b) const;                 ///< A⁻¹ B
  Eigen::VectorXd solve_vector(const Eigen::VectorXd& b) const;  ///< A⁻¹ b
  Eigen::MatrixXd solve_lower(MatrixArgument b) const;           ///< L⁻¹ B

 private:
  Eigen::LLT<Eigen::MatrixXd> factors_;
};

/// Replaces the lower half of A by L; false if A is not positive definite. Allocates nothing.
bool cholesky_in_place(Eigen::Ref<Eigen::MatrixXd> a);

/// L D Lᵀ = P A Pᵀ for a symmetric positive semidefinite A.
class PivotedCholesky {
 public:
  explicit PivotedCholesky(MatrixArgument a);

  Eigen::MatrixXd solve(MatrixArgument b) const;  ///< A⁻¹ B
  Eigen::MatrixXd root() const;                   ///< Pᵀ L D^(1/2)

 private:
  Eigen::LDLT<Eigen::MatrixXd> factors_;
};

/// A = V diag(values) Vᵀ for symmetric A; values are ascending.
struct Spectrum {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};
Spectrum symmetric_spectrum(MatrixArgument a);
Eigen::VectorXd symmetric_eigenvalues(MatrixArgument a);

/// An orthonormal basis of the column space of A [n, at most q], by QR with column pivoting. The rank counts the pivots above
/// `threshold` times the largest pivot.
Eigen::MatrixXd orthonormal_basis(MatrixArgument a, double threshold);

}  // namespace probust
