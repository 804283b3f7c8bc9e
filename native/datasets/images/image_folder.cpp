// SPDX-License-Identifier: MIT
// Folders of images. Every file with the extension of an image counts as a point, even if it cannot be read, so that none is
// omitted silently.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "datasets/csv_rows.h"
#include "datasets/formats.h"
#include "datasets/images/image.h"
#include "probust/base/text.h"

namespace probust::datasets {
namespace {

namespace fs = std::filesystem;

struct ImageFolder {
  std::string path;
  std::vector<std::string> images;  // paths relative to the folder, in order
  SettledLabels classes{};          // its `labels` are one per image, or none
  std::vector<std::string> others;  // names of the other files, by extension
};

struct FolderEntries {
  std::vector<std::string> folders, images, others;  // names in alphabetical order
};

bool is_image_name(const std::string& name) {
  static constexpr std::array<std::string_view, 8> kEndings{".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"};
  return std::find(kEndings.begin(), kEndings.end(), lower_extension(name)) != kEndings.end();
}

// Hidden files are skipped, because file managers create hidden files with the names of images.
FolderEntries list_folder(const std::string& path) {
  FolderEntries entries;
  std::error_code problem;
  fs::directory_iterator files(path, problem);
  for (const fs::directory_iterator end; !problem && files != end; files.increment(problem)) {
    std::string name = files->path().filename().string();
    std::error_code unknown;  // set for a broken link that has the name of an image
    if (name.starts_with(".")) continue;
    if (files->is_directory(unknown)) {
      entries.folders.push_back(std::move(name));
    } else if (is_image_name(name)) {
      entries.images.push_back(std::move(name));
    } else {
      entries.others.push_back(std::move(name));
    }
  }
  if (problem) refuse(path, "cannot be listed: " + problem.message());
  std::sort(entries.folders.begin(), entries.folders.end());
  std::sort(entries.images.begin(), entries.images.end());
  std::sort(entries.others.begin(), entries.others.end());
  return entries;
}

// Adds the images of a class folder to `folder`, and the class name of each image to class_of_image.
void add_class(ImageFolder& folder, const std::string& name, std::vector<std::string>& class_of_image) {
  const std::string path = folder.path + "/" + name;
  FolderEntries entries = list_folder(path);
  if (!entries.folders.empty()) {
    refuse(path + "/" + entries.folders[0], "is a folder inside a class folder",
           "put the images directly into one folder per class, or give " + path + " as data");
  }
  if (entries.images.empty())
    refuse(path, "has no images, but every folder is a class",
           "remove it, or list the labels in a table with " + option("labels"));
  for (const std::string& image : entries.images) folder.images.push_back(std::string(name).append("/").append(image));
  for (const std::string& other : entries.others) folder.others.push_back(std::string(name).append("/").append(other));
  class_of_image.resize(folder.images.size(), name);
}

ImageFolder list_images(const std::string& path, const DatasetOptions& options) {
  FolderEntries entries = list_folder(path);
  ImageFolder folder{path, {}, {}, std::move(entries.others)};
  while (folder.path.size() > 1 && folder.path.ends_with('/')) folder.path.pop_back();
  const std::string layout =
      "give a folder with one subfolder of PNG or JPEG images per class, or a folder that contains only images";
  if (entries.folders.empty() && entries.images.empty()) refuse(path, "is a folder without images", layout);
  if (!entries.folders.empty() && !entries.images.empty())
    refuse(path, "has both folders and images, such as " + entries.folders[0] + " and " + entries.images[0], layout);
  std::vector<std::string> class_of_image;
  for (const std::string& name : entries.folders) add_class(folder, name, class_of_image);
  if (entries.folders.empty()) {
    folder.images = std::move(entries.images);
  } else if (options.labels_path.empty()) {
    const std::set<std::string> names(entries.folders.begin(), entries.folders.end());
    ClassNumbers numbers = number_classes(names, LabelKind::folders, options, folder.path);
    for (const std::string& name : class_of_image) folder.classes.labels.push_back(numbers.of.at(name));
    folder.classes.class_names = std::move(numbers.class_names);
    folder.classes.mapping = std::move(numbers.mapping);
    folder.classes.guessed = numbers.guessed;
    folder.classes.named = std::ssize(numbers.of);
  }
  return folder;
}

// ---- Labels from a table of file names and labels. --------------------------------------------------------------------------

using LabelTable = std::map<std::string, std::string>;  // by file name

// Reads the table. A first row that does not name an image is a header.
LabelTable read_label_table(const std::string& path) {
  CsvRows rows(open_data_file(path), path);
  LabelTable table;
  for (bool first = true; rows.next(); first = false) {
    const std::vector<std::string>& cells = rows.cells();
    if (first && !is_image_name(cells[0])) continue;
    if (cells.size() != 2 || cells[1].empty()) {
      refuse("row " + std::to_string(rows.line()) + " of " + path, "must have an image name and a label",
             "give two columns, such as cat1.png,0");
    }
    if (!table.emplace(cells[0], cells[1]).second)
      refuse("row " + std::to_string(rows.line()) + " of " + path, "has a second label for " + cells[0],
             "give one label per image");
  }
  return table;
}

// Numbers all labels of the table, including those of images that are not in the folder.
void apply_labels(ImageFolder& folder, const DatasetOptions& options) {
  const std::string& path = options.labels_path;
  const LabelTable table = read_label_table(path);
  StoredLabels stored;
  std::map<std::string, std::size_t> position;
  for (const auto& [image, label] : table) {
    position[image] = stored.texts.size();
    stored.texts.push_back(label);
  }
  folder.classes = settled(stored, options, path);
  const std::vector<std::int64_t> labels = std::exchange(folder.classes.labels, {});
  for (const std::string& image : folder.images) {
    const auto found = position.find(image);
    if (found == position.end()) refuse(path, "has no label for " + image, "give one row per image of " + folder.path);
    folder.classes.labels.push_back(labels[found->second]);
  }
}

// ---- Points. ----------------------------------------------------------------------------------------------------------------

struct ImageTransform {
  std::int64_t resize = 0, crop = 0, channels = 0;
  std::optional<double> scale{};    // factor for stored values; if empty, the one that maps white to 1
  std::array<float, 256> values{};  // the scaled value of each byte

  float value(std::uint16_t stored, std::int64_t largest) const {
    if (largest <= 255) return values[stored];
    return static_cast<float>(stored * scale.value_or(1.0 / static_cast<double>(largest)));
  }
};

Buffer whole_file(const std::string& path) { return open_file(path).all(); }

class ImageSource final : public PointSource {
 public:
  /// Every image must have the same size as the image `first`.
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
                 ", but " + first_ + " has " + size_text(point_shape()[1], point_shape()[2]),
             "use " + option("resize") + " and " + option("crop") + " to give all images the same size");
    }
    return image;
  }

  // Writes the image to `out`, one channel after another.
  void write_point(const Image& image, std::span<float> out) const {
    const auto pixels = static_cast<std::size_t>(image.height * image.width), channels = static_cast<std::size_t>(image.channels);
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t i = 0; i < pixels; ++i)
        out[c * pixels + i] = transform_.value(image.pixels[i * channels + c], image.largest);
    }
  }

  ImageFolder folder_;
  ImageTransform transform_;
  std::string first_;
  std::vector<std::string> files_;
};

ImageSize size_of_file(const std::string& path) { return image_size(whole_file(path).bytes, path); }

// The first image whose header can be read. Throws the error of the first image if there is none.
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

// 1 if all images are gray, otherwise 3. The search ends at the first colour image; images that cannot be read are ignored.
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
                "contains images, but the model needs points with " + std::to_string(options.channels) + " channels",
                "images have 1 or 3 channels; save points with other numbers of channels as .npy"};
  }
  const std::int64_t channels = options.channels == 0 ? common_channels(folder) : options.channels;
  ImageTransform transform{options.resize, options.crop, channels, options.scale, {}};
  const double scale = options.scale.value_or(1.0 / 255.0);
  for (std::size_t v = 0; v < transform.values.size(); ++v)
    transform.values[v] = static_cast<float>(static_cast<double>(v) * scale);
  return transform;
}

// ---- Notes. -----------------------------------------------------------------------------------------------------------------

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown_names;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) shown_names.push_back(printable(names[i]));
  return join(shown_names) + (names.size() > kShown ? ", ..." : "");
}

// The positions of at most `most` images, spread evenly over those in `list`.
std::vector<std::int64_t> some_positions(const PointList& list, std::int64_t most) {
  std::vector<std::int64_t> positions;
  const std::int64_t count = std::min(list.count, most);
  for (std::int64_t i = 0; i < count; ++i) positions.push_back(list.offset + i * list.count / count);
  return positions;
}

// Calls visit(path) for at most `most` images. Skips images that cannot be read.
template <class Visit>
void for_some_images(const ImageFolder& folder, const PointList& list, std::int64_t most, Visit&& visit) {
  for (const std::int64_t position : some_positions(list, most)) {
    try {
      visit(folder.images[static_cast<std::size_t>(position)]);
    } catch (const Error&) {
      continue;
    }
  }
}

void note_orientation(const ImageFolder& folder, PointList& list) {
  constexpr std::int64_t kMost = 1000;
  constexpr std::uint64_t kBegin = 1 << 14;
  std::string first;
  std::int64_t turned = 0;
  for_some_images(folder, list, kMost, [&](const std::string& image) {
    const Stored file = open_file(folder.path + "/" + image);
    if (exif_orientation(file.from(0, kBegin).all().bytes) == 1) return;
    if (turned++ == 0) first = image;
  });
  if (turned == 0) return;
  const std::string among = list.count > kMost ? " of the " + std::to_string(kMost) + " checked" : "";
  list.notes.push_back("the EXIF orientation of " + std::to_string(turned) + (turned == 1 ? " image" : " images") + among +
                       " is ignored (the first is " + printable(first) +
                       "); rotate the images if the model was trained on upright ones");
}

void note_depth(const ImageFolder& folder, PointList& list, const ImageTransform& transform) {
  constexpr std::int64_t kMost = 16, kTwelveBits = 4095;
  std::int64_t deep = 0, largest = 0;
  for_some_images(folder, list, kMost, [&](const std::string& image) {
    const std::string path = folder.path + "/" + image;
    const Buffer file = whole_file(path);
    if (!image_size(file.bytes, path).deep) return;
    ++deep;
    const Image pixels = decode_image(file.bytes, transform.channels, path);
    for (const std::uint16_t value : pixels.pixels) largest = std::max<std::int64_t>(largest, value);
  });
  if (deep == 0) return;
  list.scale = transform.scale.value_or(1.0 / 65535.0);
  list.bytes = false;
  if (transform.scale) {
    list.notes.emplace_back("images have 16 bits: values are 0 to 65535, times " + option("scale"));
  } else if (largest <= kTwelveBits) {
    list.notes.emplace_back("images have 16 bits, and the largest value of the first is " + std::to_string(largest) +
                            "; values are divided by 65535; if the data have 12 bits, give " + option("scale") + " " +
                            shortest_text(1.0 / static_cast<double>(kTwelveBits)));
  } else {
    list.notes.emplace_back("images have 16 bits: values are divided by 65535");
  }
}

void note_colour(const ImageFolder& folder, PointList& list, const ImageTransform& transform) {
  constexpr std::int64_t kMost = 16;
  std::int64_t coloured = 0;
  if (transform.channels != 1) return;
  for_some_images(folder, list, kMost,
                  [&](const std::string& image) { coloured += size_of_file(folder.path + "/" + image).channels > 2 ? 1 : 0; });
  if (coloured > 0)
    list.notes.emplace_back(
        "images are in colour, but the model expects gray ones, so they are read as 0.299 red + 0.587 green + 0.114 blue");
}

void add_notes(const ImageFolder& folder, PointList& list, const ImageTransform& transform) {
  if (!folder.others.empty()) {
    const bool one = folder.others.size() == 1;
    list.notes.push_back(std::to_string(folder.others.size()) + (one ? " file is" : " files are") +
                         " left out, because their extension is not that of an image: " + first_names(folder.others));
  }
  note_orientation(folder, list);
  note_depth(folder, list, transform);
  note_colour(folder, list, transform);
}

}  // namespace

std::unique_ptr<PointSource> open_image_folder(const std::string& path, const DatasetOptions& options) {
  ImageFolder folder = list_images(path, options);
  std::vector<std::string> files;
  for (const std::string& image : folder.images) files.push_back(folder.path + "/" + image);
  if (!options.labels_path.empty()) {
    apply_labels(folder, options);
    files.push_back(options.labels_path);
    const fs::path table = fs::path(options.labels_path).lexically_normal();
    std::erase_if(folder.others,
                  [&](const std::string& other) { return (fs::path(folder.path) / other).lexically_normal() == table; });
  }
  PointList list = chosen(std::ssize(folder.images), path, options);
  list.labels = chosen_labels(folder.classes.labels, list);
  list.class_names = folder.classes.class_names;
  if (list.labels.empty()) list.class_names = options.classes.empty() ? options.known_classes : options.classes;
  list.label_mapping = folder.classes.mapping;
  list.named_classes = folder.classes.named;
  list.labels_guessed = folder.classes.guessed;
  list.scale = options.scale.value_or(1.0 / 255.0);
  list.bytes = true;
  const auto [first, stored] = first_readable(folder);
  const ImageTransform transform = transform_of(folder, options);
  const ImageSize size = transformed_size(stored, options.resize, options.crop);
  list.point_shape = {transform.channels, size.height, size.width};
  add_notes(folder, list, transform);
  return std::make_unique<ImageSource>(std::move(list), options.skip_bad, std::move(folder), transform, first, std::move(files));
}

}  // namespace probust::datasets
