// SPDX-License-Identifier: MIT
//
// The data that --data names, and the sizes, noise scales and networks of the experiments on them.
#pragma once

#include <string>
#include <vector>

#include "experiments/study.h"

namespace probust::cli::reproduce {

/// The data that --data names: generated data, which are written to `folder`; published data, from the cache of `probust data
/// fetch`; or a file, in which case --test names the file of test points. Throws Error{usage} that lists the names, and
/// Error{unreadable}.
Subject find_subject(const Arguments& arguments, const std::string& folder, bool quick);

/// Whether the small convolutional network accepts points of this shape: images of at least 16 x 16 pixels.
bool suits_cnn(const Shape& point);

Sizes sizes_of(const Subject& subject, bool quick);

std::vector<double> sigmas_of(const Subject& subject);

/// The paper's network for points of this shape: its convolutional network for gray images, ResNet-18 for colour images (if
/// `quick`, the convolutional network instead), and a perceptron for points that are not images.
Recipe network_recipe(const Subject& subject, bool quick);

}  // namespace probust::cli::reproduce
