// SPDX-License-Identifier: MIT
#include "cli/pictures.h"

#include "cli/options.h"
#include "datasets/dataset.h"
#include "probust/base/text.h"
#include "report/page.h"

namespace probust::cli {
namespace {

using report::entry_of;

// How the run read its data, apart from labels, which the rows have.
DatasetOptions dataset_options(const store::Configuration& configuration) {
  DatasetOptions options;
  options.scale = parse_double(entry_of(configuration, "scale"));
  if (const std::string column = entry_of(configuration, "label_column"); !column.empty()) options.label_column = column;
  options.cifar100 = entry_of(configuration, "cifar100") == "yes";
  return options;
}

Tensor point_at(const std::string& path, DatasetOptions options, std::int64_t index) {
  options.offset = index;
  options.limit = 1;
  return read_dataset(path, options).value().x;
}

// The pictures, all with the same brightness, so that they can be compared.
std::map<std::int64_t, report::Picture> drawn(const std::map<std::int64_t, Tensor>& points) {
  Tensor all;
  for (const auto& [index, x] : points) all.data.insert(all.data.end(), x.data.begin(), x.data.end());
  const report::Brightness brightness = report::brightness_of(all);
  std::map<std::int64_t, report::Picture> result;
  for (const auto& [index, x] : points) result.emplace(index, report::picture_of(x, brightness));
  return result;
}

constexpr const char* kHow = "To see them, repeat the command with --data and the file that the run read.";

}  // namespace

report::Pictures pictures_of(const store::Configuration& configuration, const store::Configuration& information,
                             const std::string& data, std::span<const std::int64_t> which) {
  const auto without = [](const std::string& reason) { return report::Pictures{{}, reason}; };
  const std::string path = data.empty() ? entry_of(information, "data_path") : data;
  if (path.empty()) return without(std::string("There are no images: the run does not say where its data are. ") + kHow);
  try {
    if (store::file_checksum(path) != entry_of(configuration, "data"))
      return without("There are no images: '" + path + "' is not, or no longer, what the run read. " + kHow);
    const DatasetOptions options = dataset_options(configuration);
    std::map<std::int64_t, Tensor> points;
    for (const std::int64_t index : which) {
      Tensor x = point_at(path, options, index);
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
