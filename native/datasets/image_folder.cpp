// SPDX-License-Identifier: MIT
// Folders of images. File names say what is an image, and contents say whether it can be read: other pictures are points, too,
// which cannot be read, so that none is left out without a word.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include "datasets/csv_rows.h"
#include "datasets/formats.h"
#include "datasets/image.h"

namespace probust::datasets {
namespace {

namespace fs = std::filesystem;

struct ImageFolder {
  std::string path;
  std::vector<std::string> images;   // relative to the folder, in order
  std::vector<std::int64_t> labels;  // one per image, or none
  std::vector<std::string> class_names;
};

struct FolderEntries {
  std::vector<std::string> folders, images;  // names in alphabetical order
};

std::string lower_extension(const std::string& name) {
  std::string text = fs::path(name).extension().string();
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_image_name(const std::string& name) {
  static constexpr std::array<std::string_view, 8> kEndings{".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"};
  return std::find(kEndings.begin(), kEndings.end(), lower_extension(name)) != kEndings.end();
}

// Hidden files are left out: file managers leave some that are called like images.
FolderEntries list_folder(const std::string& path) {
  FolderEntries entries;
  std::error_code problem;
  fs::directory_iterator files(path, problem);
  for (const fs::directory_iterator end; !problem && files != end; files.increment(problem)) {
    std::string name = files->path().filename().string();
    std::error_code unknown;  // of a link that leads nowhere, which is an image if its name says so
    if (name.starts_with(".")) continue;
    if (files->is_directory(unknown)) {
      entries.folders.push_back(std::move(name));
    } else if (is_image_name(name)) {
      entries.images.push_back(std::move(name));
    }
  }
  if (problem) refuse(path, "cannot be listed: " + problem.message());
  std::sort(entries.folders.begin(), entries.folders.end());
  std::sort(entries.images.begin(), entries.images.end());
  return entries;
}

void add_class(ImageFolder& folder, const std::string& name) {
  const std::string path = folder.path + "/" + name;
  FolderEntries entries = list_folder(path);
  if (!entries.folders.empty()) {
    refuse(path + "/" + entries.folders[0], "is a folder within the folder of a class",
           "put images directly into one folder per class, or give " + path + " as data");
  }
  if (entries.images.empty())
    refuse(path, "has no images, and each folder is a class", "remove it, or name classes in a table with " + option("labels"));
  for (const std::string& image : entries.images) {
    folder.images.push_back(std::string(name).append("/").append(image));
    folder.labels.push_back(std::ssize(folder.class_names));
  }
  folder.class_names.push_back(name);
}

ImageFolder list_images(const std::string& path) {
  FolderEntries entries = list_folder(path);
  ImageFolder folder{path, {}, {}, {}};
  while (folder.path.size() > 1 && folder.path.ends_with('/')) folder.path.pop_back();
  const std::string layout = "give a folder with one folder of PNG or JPEG images per class, or with images alone";
  if (entries.folders.empty() && entries.images.empty()) refuse(path, "is a folder without images", layout);
  if (!entries.folders.empty() && !entries.images.empty())
    refuse(path, "has both folders and images, such as " + entries.folders[0] + " and " + entries.images[0], layout);
  for (const std::string& name : entries.folders) add_class(folder, name);
  if (entries.folders.empty()) folder.images = std::move(entries.images);
  return folder;
}

// ---- Labels from a table of file names and labels. --------------------------------------------------------------------------

struct LabelTable {
  std::map<std::string, std::string> labels;  // by file name
  bool numeric = true;
};

// A first row whose name is no image's is a header.
LabelTable read_label_table(const std::string& path) {
  CsvRows rows(open_data_file(path), path);
  LabelTable table;
  for (bool first = true; rows.next(); first = false) {
    const std::vector<std::string>& cells = rows.cells();
    if (first && !is_image_name(cells[0])) continue;
    if (cells.size() != 2 || cells[1].empty()) {
      refuse(path, "row " + std::to_string(rows.line()) + " is not the name of an image and a label",
             "give two columns, as in cat1.png,0");
    }
    if (!table.labels.emplace(cells[0], cells[1]).second)
      refuse(path, "row " + std::to_string(rows.line()) + " gives a second label for " + cells[0], "give one label per image");
    table.numeric = table.numeric && csv_integer(cells[1]);
  }
  return table;
}

// Text is numbered in alphabetical order, as folders are.
void apply_labels(ImageFolder& folder, const std::string& path) {
  const LabelTable table = read_label_table(path);
  std::map<std::string, std::int64_t> numbers;
  for (const auto& [image, label] : table.labels) numbers.emplace(label, 0);
  folder.labels.clear();
  folder.class_names.clear();
  for (auto& [label, number] : numbers) {
    number = table.numeric ? *csv_integer(label) : std::ssize(folder.class_names);
    if (!table.numeric) folder.class_names.push_back(label);
  }
  for (const std::string& image : folder.images) {
    const auto found = table.labels.find(image);
    if (found == table.labels.end()) refuse(path, "has no label for " + image, "give one row per image of " + folder.path);
    folder.labels.push_back(numbers.at(found->second));
  }
}

// ---- Points. ----------------------------------------------------------------------------------------------------------------

struct ImageTransform {
  std::int64_t resize = 0, crop = 0, channels = 0;
  std::array<float, 256> values{};  // what a stored byte is in the natural space
};

Buffer whole_file(const std::string& path) { return open_file(path).all(); }

class ImageSource final : public PointSource {
 public:
  /// Every image must become as large as the one called `first`.
  ImageSource(PointList list, bool skip_bad, ImageFolder folder, ImageTransform transform, std::string first,
              std::vector<std::string> files)
      : PointSource(std::move(list), skip_bad),
        folder_(std::move(folder)),
        transform_(transform),
        first_(std::move(first)),
        files_(std::move(files)) {}

  std::vector<std::string> files() const override { return files_; }

 private:
  Tensor decode(std::int64_t first, std::int64_t count) override {
    Shape shape = point_shape();
    shape.insert(shape.begin(), count);
    Tensor x(shape);
    std::int64_t good = 0;
    for (std::int64_t position = first; position < first + count; ++position) {
      const std::string path = folder_.path + "/" + folder_.images[static_cast<std::size_t>(offset() + position)];
      try {
        write_point(transformed(path), x.row(good));
        ++good;
      } catch (const Error& error) {
        if (error.code != ErrorCode::unreadable) throw;
        found_bad(position, error);
      }
    }
    x.shape[0] = good;
    x.data.resize(static_cast<std::size_t>(element_count(x.shape)));
    return x;
  }

  Image transformed(const std::string& path) const {
    Image image = decode_image(whole_file(path).bytes, transform_.channels, path);
    if (transform_.resize > 0) image = resized(image, transform_.resize, path);
    if (transform_.crop > 0) image = centre_crop(image, transform_.crop, path);
    if (image.height != point_shape()[1] || image.width != point_shape()[2]) {
      refuse(path,
             "has " + size_text(image.height, image.width) + " pixels" + (transform_.resize > 0 ? " after resizing" : "") +
                 ", and " + first_ + " has " + size_text(point_shape()[1], point_shape()[2]),
             "give " + option("resize") + " and " + option("crop") + " to make them alike");
    }
    return image;
  }

  // Channel after channel.
  void write_point(const Image& image, std::span<float> out) const {
    const auto pixels = static_cast<std::size_t>(image.height * image.width), channels = static_cast<std::size_t>(image.channels);
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t i = 0; i < pixels; ++i) out[c * pixels + i] = transform_.values[image.pixels[i * channels + c]];
    }
  }

  ImageFolder folder_;
  ImageTransform transform_;
  std::string first_;
  std::vector<std::string> files_;
};

ImageSize size_of_file(const std::string& path) { return image_size(whole_file(path).bytes, path); }

// The first image whose header can be read. Throws the error of the first one if there is none.
std::pair<std::string, ImageSize> first_readable(const ImageFolder& folder) {
  std::optional<Error> problem;
  for (const std::string& image : folder.images) {
    try {
      return {image, size_of_file(folder.path + "/" + image)};
    } catch (const Error& error) {
      if (!problem) problem = error;
    }
  }
  throw *problem;
}

// 1 if all images are gray: the search ends at the first one in colour. Images that cannot be read do not count.
std::int64_t common_channels(const ImageFolder& folder) {
  const auto in_colour = [&](const std::string& image) {
    try {
      return size_of_file(folder.path + "/" + image).channels > 2;
    } catch (const Error&) {
      return false;
    }
  };
  return std::any_of(folder.images.begin(), folder.images.end(), in_colour) ? 3 : 1;
}

ImageTransform transform_of(const ImageFolder& folder, const DatasetOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3) {
    throw Error{ErrorCode::unreadable, folder.path,
                "has images, and the model takes " + std::to_string(options.channels) + " channels",
                "images have 1 (gray) or 3 (colour); give other data as .npy"};
  }
  const std::int64_t channels = options.channels == 0 ? common_channels(folder) : options.channels;
  ImageTransform transform{options.resize, options.crop, channels, {}};
  const double scale = options.scale.value_or(1.0 / 255.0);
  for (std::size_t v = 0; v < transform.values.size(); ++v)
    transform.values[v] = static_cast<float>(static_cast<double>(v) * scale);
  return transform;
}

}  // namespace

std::unique_ptr<PointSource> open_image_folder(const std::string& path, const DatasetOptions& options) {
  ImageFolder folder = list_images(path);
  std::vector<std::string> files;
  for (const std::string& image : folder.images) files.push_back(folder.path + "/" + image);
  if (!options.labels_path.empty()) {
    apply_labels(folder, options.labels_path);
    files.push_back(options.labels_path);
  }
  PointList list = chosen(std::ssize(folder.images), path, options);
  list.labels = chosen_labels(folder.labels, list);
  list.class_names = folder.class_names;
  const auto [first, stored] = first_readable(folder);
  const ImageTransform transform = transform_of(folder, options);
  const ImageSize size = transformed_size(stored, options.resize, options.crop);
  list.point_shape = {transform.channels, size.height, size.width};
  return std::make_unique<ImageSource>(std::move(list), options.skip_bad, std::move(folder), transform, first, std::move(files));
}

}  // namespace probust::datasets
