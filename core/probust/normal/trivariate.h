// SPDX-License-Identifier: MIT
//
// Three jointly normal variables: one quadrature over the bivariate distribution.
#pragma once

#include "probust/base/linear_algebra.h"
#include "probust/normal/quadrature.h"

namespace probust::normal {

/// P(X <= z) and its complement for three finite limits and a correlation matrix, which may be singular.
Integral trivariate(const Eigen::Vector3d& z, const Eigen::Matrix3d& R);

}  // namespace probust::normal
