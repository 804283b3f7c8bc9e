// SPDX-License-Identifier: MIT
#include "datasets/fetch/catalogue.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "probust/base/text.h"

namespace probust {
namespace {

constexpr const char* kClothes[] = {"t-shirt/top", "trouser", "pullover", "dress", "coat",
                                    "sandal",      "shirt",   "sneaker",  "bag",   "ankle boot"};
constexpr const char* kTenThings[] = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
constexpr const char* kHundredThings =
    "apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle "
    "caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant flatfish "
    "forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle "
    "mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine "
    "possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake spider squirrel streetcar "
    "sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle wardrobe whale willow_tree "
    "wolf woman worm";

constexpr std::uint64_t kCifarBatch = std::uint64_t{10000} * 3073, kCifar100Row = 3074;

CachedFile alone(PublishedFile file) {
  std::string name = file.name;
  return {std::move(name), {std::move(file)}};
}

// A data set in the format of MNIST, with its four files.
Published like_mnist(std::string name, std::string summary, std::vector<std::string> urls, std::vector<CachedFile> files,
                     std::vector<std::string> classes) {
  return {std::move(name),
          std::move(summary),
          std::move(urls),
          {},
          std::move(files),
          "train-images-idx3-ubyte.gz",
          "t10k-images-idx3-ubyte.gz",
          {},
          std::move(classes)};
}

Published mnist() {
  return like_mnist("mnist", "handwritten digits, 60,000 + 10,000 images of 28 x 28 (LeCun, Cortes, Burges)",
                    {"https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"},
                    {alone({"train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873", 9912422}),
                     alone({"train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432", 28881}),
                     alone({"t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3", 1648877}),
                     alone({"t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c", 4542})},
                    split("0 1 2 3 4 5 6 7 8 9", ' '));
}

Published fashion_mnist() {
  return like_mnist(
      "fashion-mnist", "articles of clothing, 60,000 + 10,000 images of 28 x 28 (Xiao, Rasul, Vollgraf)",
      {"https://fashion-mnist.s3.eu-central-1.amazonaws.com/", "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
       "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"},
      {alone({"train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d", 26421880}),
       alone({"train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe", 29515}),
       alone({"t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79", 4422102}),
       alone({"t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310", 5148})},
      {std::begin(kClothes), std::end(kClothes)});
}

Published cifar10() {
  CachedFile train{"train.bin",
                   {{"data_batch_1.bin", "5dd7e06a14cb22eb9f671a540d1b7c25", kCifarBatch},
                    {"data_batch_2.bin", "5ea93a67294ea407fff1d09f752e9692", kCifarBatch},
                    {"data_batch_3.bin", "942cd6a4bcdd0dd3c604fbe906cb4421", kCifarBatch},
                    {"data_batch_4.bin", "ae636b3ba5c66a11e91e8cb52e771fcb", kCifarBatch},
                    {"data_batch_5.bin", "53f37980c15c3d472c316c40844f3f0d", kCifarBatch}}};
  CachedFile test{"test.bin", {{"test_batch.bin", "803d5f7f4d78ea53de84dbe85f74fb6d", kCifarBatch}}};
  return {"cifar10",
          "photographs, 50,000 + 10,000 images of 3 x 32 x 32 (Krizhevsky)",
          {"https://www.cs.toronto.edu/~kriz/"},
          PublishedFile{"cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530", 170052171},
          {std::move(train), std::move(test)},
          "train.bin",
          "test.bin",
          {},
          {std::begin(kTenThings), std::end(kTenThings)}};
}

Published cifar100() {
  DatasetOptions options;
  options.cifar100 = true;
  return {"cifar100",
          "photographs in 100 classes, 50,000 + 10,000 images of 3 x 32 x 32 (Krizhevsky)",
          {"https://www.cs.toronto.edu/~kriz/"},
          PublishedFile{"cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8", 168513733},
          {alone({"train.bin", "6172c7755cfe09b2fe270c85cebc1b15", 50000 * kCifar100Row}),
           alone({"test.bin", "4499cfba6c016c1be1438163640a0898", 10000 * kCifar100Row})},
          "train.bin",
          "test.bin",
          options,
          split(kHundredThings, ' ')};
}

// The copy of this data set in common collections lacks the last line break.
Published ionosphere() {
  PublishedFile file{"ionosphere.data", "85649e5fb5b15fb9dab726c400be61fe", 76467, "a49bc18511a602542b02ce7020507a56", 76466};
  return {"ionosphere",
          "radar returns, 351 points of 34 numbers in two classes (Sigillito, UCI)",
          {"https://archive.ics.uci.edu/ml/machine-learning-databases/ionosphere/"},
          {},
          {alone(std::move(file))},
          "ionosphere.data",
          "",
          {},
          {"b", "g"}};  // the table's letters for "bad" and "good"
}

// The value of an environment variable. An empty one counts as missing.
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::uint64_t CachedFile::bytes() const {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const PublishedFile& part) { return sum + part.bytes; });
}

const std::vector<Published>& published_datasets() {
  static const std::vector<Published> all{mnist(), fashion_mnist(), cifar10(), cifar100(), ionosphere()};
  return all;
}

const Published& published_dataset(std::string_view name) {
  std::vector<std::string> names;
  for (const Published& dataset : published_datasets()) {
    if (dataset.name == name) return dataset;
    names.push_back(dataset.name);
  }
  throw Error{ErrorCode::usage, "'" + printable(name) + "'", "is not a published data set", "use " + join(names, " or ")};
}

std::string default_cache() {
  if (std::string own = environment("PROBUST_CACHE"); !own.empty()) return own;
  if (const std::string all = environment("XDG_CACHE_HOME"); !all.empty())
    return (std::filesystem::path(all) / "probust").string();
  if (const std::string home = environment("HOME"); !home.empty())
    return (std::filesystem::path(home) / ".cache" / "probust").string();
  throw Error{ErrorCode::usage, option("cache"), "is missing, and neither HOME nor PROBUST_CACHE is set", "give a folder"};
}

std::optional<Located> locate(std::string_view name, const std::string& cache) {
  const Published& dataset = published_dataset(name);
  const std::filesystem::path folder = std::filesystem::path(cache.empty() ? default_cache() : cache) / dataset.name;
  Located located{(folder / dataset.train).string(), "", dataset.options, dataset.classes, true};
  if (!dataset.test.empty()) located.test = (folder / dataset.test).string();
  for (const CachedFile& file : dataset.files) {
    std::error_code missing;
    const auto bytes = std::filesystem::file_size(folder / file.name, missing);
    if (missing) return std::nullopt;
    const PublishedFile& first = file.parts.front();
    located.whole = located.whole && (bytes == file.bytes() || (first.copy_bytes > 0 && bytes == first.copy_bytes));
  }
  return located;
}

}  // namespace probust
