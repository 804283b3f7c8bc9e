// SPDX-License-Identifier: MIT
//
// Iris: lengths and widths of the flowers of three species, measured by E. Anderson ("The species problem in Iris", Annals of
// the Missouri Botanical Garden 23, 1936) and published by R. A. Fisher ("The use of multiple measurements in taxonomic
// problems", Annals of Eugenics 7, 1936). The rows and their order are those of the UCI Machine Learning Repository
// (doi:10.24432/C56C76). Rows 35 and 38, counted from 1, are known to differ from Fisher's table in one or two numbers; they
// are not corrected, because published results use them.
#pragma once

#include "datasets/dataset.h"

namespace probust {

/// The 150 flowers [150, 4] in centimetres: sepal length, sepal width, petal length, petal width. Labels 0, 1 and 2 are setosa,
/// versicolor and virginica, fifty of each, in this order.
Dataset iris();

}  // namespace probust
