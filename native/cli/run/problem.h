// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/run/plan.h"
#include "datasets/point_source.h"
#include "probust/model.h"

namespace probust::cli {

/// The input of `estimate` for one model.
struct Problem {
  Arguments arguments;
  std::unique_ptr<PointSource> data;
  std::vector<std::int64_t> labels;  ///< labels of all points, or empty; PointSource::kNoLabel for a point that cannot be read
  LoadedModel model;
  std::vector<std::string> class_names;  ///< may be empty
  std::vector<std::string> notes;        ///< notes about the data for the user; pass them to spelled() before showing them
};

/// Loads the model and data of `arguments`. Throws Error, for example if the noise does not fit the points.
Problem load_problem(const Arguments& arguments, const std::vector<Noise>& noises);

/// The position of the first point to read, and the number of points to read.
std::int64_t first_position(const Problem& problem);
std::int64_t point_count(const Problem& problem);

/// The positions of a shard: an equal part of the points or, if the plan requires whole blocks, of the blocks. Estimates do not
/// depend on the division into shards.
Span span_of(const Problem& problem, const Plan& plan, const Shard& shard);

/// The points at positions [first, first + count) of the data, without unreadable points, which are skipped.
PointBlock read_points(Problem& problem, std::int64_t first, std::int64_t count);

/// The event whose probability is estimated, from --groups (such as "0,1/Shirt,Coat"), --per-class and --top. Throws
/// Error{usage}.
Event parse_event(const Arguments& arguments, const std::vector<std::string>& class_names, std::int64_t classes);

}  // namespace probust::cli
