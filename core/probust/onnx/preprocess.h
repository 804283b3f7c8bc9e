// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "probust/base/error.h"
#include "probust/onnx/arrangement.h"
#include "probust/onnx/import.h"
#include "probust/onnx/layout.h"

namespace probust {

/// Parses "auto", "nchw", "nhwc" or "whcn". Throws Error{usage} named after `where`.
Layout parse_layout(const std::string& text, const std::string& where);

/// The steps from stored data, after scaling, to the model's input.
struct Preprocessing {
  std::vector<double> mean;  ///< subtracted first: no value, one for all channels, or one per channel (per element of [d] data)
  std::vector<double> std;   ///< divisors of the differences, in the same form
  Layout layout = Layout::automatic;
};

/// The axis of points along which mean and std vary: the channels. If points have the shape of the input, it is the first axis,
/// unless only the last axis has as many entries as mean and std.
int channel_axis(const Arrangement& arrangement, const Shape& point, const Preprocessing& preprocessing);

/// The model as a function of one point of `data_shape` ([C, H, W], [H, W, C] or [d]) in the data's natural units. Mean, std and
/// layout become part of the graph, so that noise and derivatives are in natural units. Errors: unreadable if the data do not fit
/// the model's input (arrangement.h), usage if mean, std or layout do not fit.
Result<Graph> with_preprocessing(const Model& model, const Shape& data_shape, const Preprocessing& preprocessing);

}  // namespace probust
