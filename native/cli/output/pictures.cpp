// SPDX-License-Identifier: MIT
#include "cli/output/pictures.h"

#include "cli/options.h"
#include "cli/run/load.h"
#include "datasets/point_source.h"
#include "report/page.h"

namespace probust::cli {
namespace {

// Opens the data with the options of the run, but all of its points.
std::unique_ptr<PointSource> open_as_before(const std::string& path, const store::Configuration& information) {
  DataArguments data = parse_data_options(path, store::value_of(information, "data_options"));
  data.labels.clear();  // the rows have them
  data.offset = 0;
  data.limit = -1;
  return open_dataset(path, dataset_options(data)).value();
}

// The pictures of all points, with the same brightness scale, so that they can be compared.
std::map<std::int64_t, report::Picture> drawn(const std::map<std::int64_t, Tensor>& points) {
  Tensor all;
  for (const auto& [index, x] : points) all.data.insert(all.data.end(), x.data.begin(), x.data.end());
  const report::Brightness brightness = report::brightness_of(all);
  std::map<std::int64_t, report::Picture> result;
  for (const auto& [index, x] : points) result.emplace(index, report::picture_of(x, brightness));
  return result;
}

constexpr const char* kHow = "To see them, repeat the command with --data and the run's data file.";

}  // namespace

report::Pictures pictures_of(const store::Configuration& configuration, const store::Configuration& information,
                             const std::string& data, std::span<const std::int64_t> which) {
  const auto without = [](const std::string& reason) { return report::Pictures{{}, reason}; };
  const std::string path = data.empty() ? store::value_of(information, "data_path") : data;
  if (path.empty()) return without(std::string("There are no images: the run does not record where its data are. ") + kHow);
  try {
    if (store::checksum(path) != store::value_of(configuration, "data"))
      return without("There are no images: '" + path + "' is not the run's data file, or has changed since. " + kHow);
    const std::unique_ptr<PointSource> source = open_as_before(path, information);
    std::map<std::int64_t, Tensor> points;
    for (const std::int64_t index : which) {
      Tensor x = source->read(index, 1).x;
      if (!report::is_image({x.shape.begin() + 1, x.shape.end()}))
        return without("There are no images: points of shape " + to_string(Shape{x.shape.begin() + 1, x.shape.end()}) +
                       " are not images.");
      points.emplace(index, std::move(x));
    }
    return {drawn(points), ""};
  } catch (const Error& error) {
    return without("There are no images: " + error.message(as_flag) + ". " + kHow);
  }
}

}  // namespace probust::cli
