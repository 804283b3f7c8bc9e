// SPDX-License-Identifier: MIT
#include "datasets/point_source.h"

#include <algorithm>
#include <utility>

#include "datasets/formats.h"

namespace probust {

std::optional<std::pair<std::int64_t, std::int64_t>> PointSource::label_range() const {
  std::optional<std::pair<std::int64_t, std::int64_t>> range;
  for (const std::int64_t label : list_.labels) {
    if (label == kNoLabel) continue;
    if (!range) range = {label, label};
    range = {std::min(range->first, label), std::max(range->second, label)};
  }
  return range;
}

std::vector<std::string> PointSource::notes() const {
  std::vector<std::string> notes = list_.notes;
  if (!list_.label_mapping.empty()) notes.insert(notes.begin(), list_.label_mapping);
  return notes;
}

PointBlock PointSource::read(std::int64_t first, std::int64_t count) {
  if (first < 0 || count < 0 || first > list_.count - count) {
    const std::string asked = std::to_string(first) + " to " + std::to_string(first + count - 1);
    throw Error{ErrorCode::usage, "the data set",
                "has " + std::to_string(list_.count) + " points, but points " + asked + " were requested", ""};
  }
  PointBlock block{decode(first, count), {}, {}};
  for (std::int64_t position = first; position < first + count; ++position) {
    if (bad_.count(list_.offset + position) != 0) continue;
    block.index.push_back(list_.offset + position);
    if (!list_.labels.empty()) block.labels.push_back(list_.labels[static_cast<std::size_t>(position)]);
  }
  return block;
}

std::vector<BadPoint> PointSource::bad() const {
  std::vector<BadPoint> points;
  points.reserve(bad_.size());
  for (const auto& [index, error] : bad_) points.push_back({index, error});
  return points;
}

void PointSource::found_bad(std::int64_t position, Error error) {
  if (!skip_bad_) {
    error.hint = (error.hint.empty() ? "repair the file" : error.hint) + ", or skip unreadable points with " + option("skip_bad");
    throw error;
  }
  bad_.emplace(list_.offset + position, std::move(error));
}

Result<std::unique_ptr<PointSource>> open_dataset(const std::string& path, const DatasetOptions& options) {
  return guarded(path, [&] { return datasets::open_points(path, options); });
}

Result<Dataset> read_dataset(const std::string& path, const DatasetOptions& options) {
  return guarded(path, [&] {
    const auto source = datasets::open_points(path, options);
    PointBlock all = source->read(0, source->count());
    Dataset data{std::move(all.x), std::move(all.labels),   source->class_names(), std::move(all.index),
                 source->bad(),    source->label_mapping(), source->notes()};
    if (data.index.empty()) {
      Error error = data.bad.front().error;
      error.problem = "has no readable point: " + error.sentence();
      error.where = path;
      throw error;
    }
    return data;
  });
}

}  // namespace probust
