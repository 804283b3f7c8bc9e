// SPDX-License-Identifier: MIT
// Published data sets: the catalogue, downloads, folders and archives. The tests use data sets of a few bytes and a server on
// this machine.
#include "datasets/fetch/fetch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <optional>
#include <set>
#include <string>

#include "datasets/fetch/program.h"
#include "datasets/fetch/tar.h"
#include "datasets/local_files.h"
#include "support/command.h"
#include "support/gzip.h"
#include "support/http_server.h"

namespace probust {
namespace {

namespace fs = std::filesystem;
using test::Folder;
using test::HttpServer;
using test::mentions;
using test::read_whole;

datasets::Bytes as_bytes(const std::string& text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

std::string md5(const std::string& text) {
  datasets::Md5 sum;
  sum.add(as_bytes(text));
  return sum.digits();
}

PublishedFile published(const std::string& name, const std::string& contents) { return {name, md5(contents), contents.size()}; }

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

// `count` images of 2 x 2 pixels, and their labels, in the IDX format.
std::string images(std::uint32_t count, char value) {
  return test::gzip(std::string("\0\0\x08\x03", 4) + big_endian(count) + big_endian(2) + big_endian(2) +
                    std::string(4 * count, value));
}
std::string labels(std::uint32_t count) {
  return test::gzip(std::string("\0\0\x08\x01", 4) + big_endian(count) + std::string(count, '\x01'));
}

// Four files with the names of MNIST's, with three training images and two test images.
struct SmallImages {
  std::map<std::string, std::string> contents{{"train-images-idx3-ubyte.gz", images(3, 'a')},
                                              {"train-labels-idx1-ubyte.gz", labels(3)},
                                              {"t10k-images-idx3-ubyte.gz", images(2, 'b')},
                                              {"t10k-labels-idx1-ubyte.gz", labels(2)}};
  Published dataset;

  explicit SmallImages(const std::string& name = "mnist") {
    dataset.name = name;
    for (const auto& [file, bytes] : contents) dataset.files.push_back({file, {published(file, bytes)}});
    dataset.train = "train-images-idx3-ubyte.gz";
    dataset.test = "t10k-images-idx3-ubyte.gz";
    dataset.classes = {"no", "yes"};
  }
};

Fetched fetch_all(const Published& dataset, const FetchOptions& options) {
  std::atomic<std::int64_t> done{0};
  return fetch(dataset, options, done);
}

// The error of a fetch; its message is empty if there was none.
Error failure(const Published& dataset, const FetchOptions& options) {
  try {
    fetch_all(dataset, options);
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCode::internal, "", "", ""};
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& each : fs::directory_iterator(folder)) names.insert(each.path().filename().string());
  return names;
}

TEST(Catalogue, DescribesEveryDataSetCompletely) {
  std::set<std::string> names;
  for (const Published& dataset : published_datasets()) {
    EXPECT_TRUE(names.insert(dataset.name).second);
    EXPECT_EQ(&published_dataset(dataset.name), &dataset);
    EXPECT_FALSE(dataset.classes.empty());
    for (const std::string& url : dataset.urls) EXPECT_TRUE(url.starts_with("https://") && url.ends_with("/")) << url;
    std::set<std::string> files;
    for (const CachedFile& file : dataset.files) {
      files.insert(file.name);
      EXPECT_TRUE(dataset.archive || file.parts.size() == 1) << file.name;
      for (const PublishedFile& part : file.parts) {
        EXPECT_EQ(part.md5.size(), 32U) << part.name;
        EXPECT_EQ(part.md5.find_first_not_of("0123456789abcdef"), std::string::npos) << part.name;
        EXPECT_GT(part.bytes, 0U);
      }
    }
    EXPECT_TRUE(files.count(dataset.train) == 1) << dataset.train;
    EXPECT_TRUE(dataset.test.empty() || files.count(dataset.test) == 1) << dataset.test;
  }
  EXPECT_EQ(published_dataset("fashion-mnist").classes[9], "ankle boot");
  EXPECT_EQ(published_dataset("cifar100").classes.size(), 100U);
  EXPECT_EQ(published_dataset("cifar10").files[0].bytes(), 50000U * 3073);
  EXPECT_THROW(published_dataset("mnst"), Error);
}

TEST(Catalogue, LocatesFilesInTheCache) {
  const Folder folder;
  const std::string cache = folder / "cache";
  fs::create_directories(cache + "/ionosphere");
  EXPECT_FALSE(locate("ionosphere", cache));
  std::ofstream(cache + "/ionosphere/ionosphere.data") << "1,2,g\n";
  auto located = locate("ionosphere", cache);
  ASSERT_TRUE(located);
  EXPECT_EQ(located->train, cache + "/ionosphere/ionosphere.data");
  EXPECT_EQ(located->test, "");
  EXPECT_EQ(located->classes, (std::vector<std::string>{"b", "g"}));
  EXPECT_FALSE(located->whole);
  std::ofstream(cache + "/ionosphere/ionosphere.data") << std::string(76467, ' ');
  EXPECT_TRUE(locate("ionosphere", cache)->whole);
  std::ofstream(cache + "/ionosphere/ionosphere.data") << std::string(76466, ' ');  // the copy that lacks the last line break
  EXPECT_TRUE(locate("ionosphere", cache)->whole);
}

// Unsets an environment variable during its lifetime.
class Unset {
 public:
  explicit Unset(const char* name) : name_(name) {
    if (const char* value = std::getenv(name)) value_ = value;
    unsetenv(name);
  }
  ~Unset() {
    if (value_) setenv(name_, value_->c_str(), 1);
    if (!value_) unsetenv(name_);
  }
  Unset(const Unset&) = delete;
  Unset& operator=(const Unset&) = delete;

 private:
  const char* name_;
  std::optional<std::string> value_;
};

TEST(Catalogue, FindsItsCacheByTheEnvironment) {
  const Unset home("HOME"), user("XDG_CACHE_HOME"), own("PROBUST_CACHE");
  EXPECT_THROW((void)default_cache(), Error);
  setenv("HOME", "/h", 1);
  EXPECT_EQ(default_cache(), "/h/.cache/probust");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(default_cache(), "/x/probust");
  setenv("PROBUST_CACHE", "/p", 1);
  EXPECT_EQ(default_cache(), "/p");
}

TEST(Fetch, ComputesChecksums) {
  EXPECT_EQ(md5(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(md5(std::string(1000000, 'a')), "7707d6ae4e027c70eea2a935c2296f21");
}

TEST(Fetch, DownloadsMissingFilesFromTheFirstUrlThatHasThem) {
  const Folder folder;
  SmallImages small;
  const HttpServer without([](const std::string&, int) { return HttpServer::Answer{404, "none", 0, false}; });
  const HttpServer with([&](const std::string& path, int) {
    return HttpServer::Answer{200, small.contents.at(path.substr(1)), 0, false};
  });
  small.dataset.urls = {without.url(), with.url()};
  std::atomic<std::int64_t> done{0};
  const Fetched fetched = fetch(small.dataset, {"", folder / "cache", false}, done);
  EXPECT_EQ(done, bytes_to_fetch(small.dataset));
  ASSERT_EQ(fetched.files.size(), 4U);
  for (const FetchedFile& file : fetched.files) {
    const std::string name = fs::path(file.path).filename().string();
    EXPECT_EQ(read_whole(file.path), small.contents[name]);
    EXPECT_EQ(file.origin, Origin::downloaded);
    EXPECT_EQ(file.source, with.url() + name);
    EXPECT_TRUE(file.verified);
  }
  EXPECT_EQ(read_whole(fetched.class_names), "no\nyes\n");
  EXPECT_EQ(without.requests(), 4);  // a response of 404 is not requested again
  // Existing files are kept; files that are damaged or have a different size are fetched again.
  std::ofstream(fetched.files[0].path) << std::string(small.contents["t10k-images-idx3-ubyte.gz"].size(), 'x');
  fs::remove(fetched.files[1].path);
  const int before = with.requests();
  const Fetched again = fetch_all(small.dataset, {"", folder / "cache", false});
  EXPECT_EQ(with.requests() - before, 2);
  EXPECT_EQ(again.files[0].origin, Origin::downloaded);
  EXPECT_EQ(again.files[2].origin, Origin::kept);
  EXPECT_EQ(read_whole(fetched.files[0].path), small.contents["t10k-images-idx3-ubyte.gz"]);
  EXPECT_EQ(names_in(folder / "cache/mnist").size(), 5U);  // four files and the class names
}

TEST(Fetch, TriesABrokenConnectionAgain) {
  const Folder folder;
  SmallImages small;
  const HttpServer server([&](const std::string& path, int request) {
    const std::string& whole = small.contents.at(path.substr(1));
    if (request == 1) return HttpServer::Answer{200, whole.substr(0, 10), whole.size(), false};
    return HttpServer::Answer{200, whole, 0, false};
  });
  const Fetched fetched = fetch_all(small.dataset, {server.url(), folder / "cache", false});
  EXPECT_EQ(server.requests(), 5);
  for (const FetchedFile& file : fetched.files) EXPECT_EQ(read_whole(file.path), small.contents[fs::path(file.path).filename()]);
}

TEST(Fetch, AWrongFileLeavesNothingAndIsReported) {
  const Folder folder;
  const SmallImages small;
  const std::string first = small.dataset.files.front().name, whole = small.contents.at(first);
  for (const auto& [body, status, problem] : std::vector<std::tuple<std::string, int, std::string>>{
           {std::string(whole.size(), 'x'), 200, "returned a file whose MD5 sum is " + md5(std::string(whole.size(), 'x'))},
           {whole.substr(1), 200, "returned " + std::to_string(whole.size() - 1) + " bytes instead of"},
           {whole + "more", 200, "returned more than the " + std::to_string(whole.size()) + " bytes"},
           {"", 404, "404"}}) {
    const HttpServer server([&, text = body, code = status](const std::string&, int) {
      return HttpServer::Answer{code, text, 0, false};
    });
    const Error error = failure(small.dataset, {server.url(), folder / "cache", false});
    EXPECT_EQ(error.code, ErrorCode::unreadable);
    EXPECT_EQ(error.where, server.url() + first);
    EXPECT_TRUE(mentions(error.problem, problem)) << error.problem;
    EXPECT_TRUE(names_in(folder / "cache/mnist").empty()) << problem;
  }
}

TEST(Fetch, OneProcessAtATime) {
  const Folder folder;
  const SmallImages small;
  fs::create_directories(folder / "cache/mnist");
  const int held = open((folder / "cache/mnist").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(held, LOCK_SH), 0);
  EXPECT_EQ(failure(small.dataset, {folder / "none", folder / "cache", false}).code, ErrorCode::conflict);
  close(held);
  EXPECT_EQ(failure(small.dataset, {folder / "none", folder / "cache", false}).code, ErrorCode::unreadable);
}

TEST(Fetch, FindsFilesOfAFolderByTheEndsOfTheirNames) {
  const Folder folder;
  SmallImages small("fashion-mnist");
  fs::create_directories(folder / "a/b/c");
  folder.write("a/Fashion-TRAIN-images-idx3-ubyte.gz", small.contents["train-images-idx3-ubyte.gz"]);
  folder.write("a/b/c/my-training-labels-idx1-ubyte.gz", small.contents["train-labels-idx1-ubyte.gz"]);
  folder.write("fashion-test-open-images-idx3-ubyte.gz", small.contents["t10k-images-idx3-ubyte.gz"]);
  folder.write("mnist-test-labels-idx1-ubyte.gz",
               small.contents["t10k-labels-idx1-ubyte.gz"]);  // the published contents, whatever the file's name
  folder.write("a/latest-images-idx3-ubyte.gz", "no word is 'test'");
  const Fetched fetched = fetch_all(small.dataset, {folder / "", folder / "cache", false});
  ASSERT_EQ(fetched.files.size(), 4U);
  for (const FetchedFile& file : fetched.files) {
    EXPECT_EQ(read_whole(file.path), small.contents[fs::path(file.path).filename()]);
    EXPECT_EQ(file.origin, Origin::copied);
    EXPECT_TRUE(file.verified);
  }
  EXPECT_EQ(fetched.files[0].source, folder / "fashion-test-open-images-idx3-ubyte.gz");
}

TEST(Fetch, OtherFilesNeedTheUnverifiedOption) {
  const Folder folder;
  SmallImages small;
  fs::create_directories(folder / "data");
  for (const auto& [name, contents] : small.contents) folder.write("data/" + name, contents);
  fs::remove(folder / "data/t10k-images-idx3-ubyte.gz");
  const FetchOptions strict{folder / "data", folder / "cache", false}, lenient{folder / "data", folder / "cache", true};
  EXPECT_TRUE(mentions(failure(small.dataset, strict).message(), "has no file for t10k-images-idx3-ubyte.gz of mnist"));
  // Files of another data set.
  folder.write("data/fashion-test-images-idx3-ubyte.gz", images(2, 'c'));
  EXPECT_TRUE(mentions(failure(small.dataset, lenient).message(), "has no file for t10k-images"));
  // Some of its files, with fewer images than labels.
  folder.write("data/mnist-test-part-images-idx3-ubyte.gz", images(1, 'b'));
  const std::string problem = failure(small.dataset, strict).message();
  EXPECT_TRUE(mentions(problem, "mnist-test-part-images-idx3-ubyte.gz is not the published t10k-images-idx3-ubyte.gz"))
      << problem;
  EXPECT_TRUE(mentions(problem, "unverified")) << problem;
  EXPECT_TRUE(mentions(failure(small.dataset, lenient).message(), "has 2 labels for 1 points"));
  EXPECT_FALSE(fs::exists(folder / "cache/mnist/t10k-images-idx3-ubyte.gz"));
  folder.write("data/mnist-test-part-images-idx3-ubyte.gz", images(2, 'x'));
  const Fetched fetched = fetch_all(small.dataset, lenient);
  EXPECT_FALSE(fetched.files[0].verified);
  EXPECT_EQ(read_whole(fetched.files[0].path), images(2, 'x'));
  EXPECT_TRUE(fetched.files[1].verified);
  // Two files that match.
  folder.write("data/mnist-test-other-images-idx3-ubyte.gz", images(2, 'y'));
  EXPECT_TRUE(mentions(failure(small.dataset, lenient).message(), " could both be "));
  EXPECT_EQ(failure(small.dataset, {"", folder / "cache", true}).code, ErrorCode::usage);
}

// ---- archives

std::string tar_entry(const std::string& name, const std::string& contents, char type = '0') {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  char octal[13];
  std::snprintf(octal, sizeof octal, "%011o", static_cast<unsigned>(contents.size()));
  put(0, name);
  put(100, "0000644");
  put(124, octal);
  header[156] = type;
  put(257, "ustar");
  put(148, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(octal, sizeof octal, "%06o", sum);
  put(148, std::string(octal, 7));
  return header + contents + std::string((512 - contents.size() % 512) % 512, '\0');
}

// Training data in two parts, which are in a different order in the archive, and other files.
struct SmallArchive {
  std::string first = std::string(700, '1'), second = std::string(512, '2'), third = std::string(3, '3');
  std::string archive = test::gzip(
      tar_entry("set/", "", '5') + tar_entry("set/test_batch.bin", third) + tar_entry("set/data_batch_2.bin", second) +
      tar_entry("set/readme.html", std::string(5000, 'r')) + tar_entry("set/data_batch_1.bin", first) + std::string(1024, '\0'));
  Published dataset;

  SmallArchive() {
    dataset.name = "cifar10";
    dataset.archive = published("cifar-10-binary.tar.gz", archive);
    dataset.files = {{"train.bin", {published("data_batch_1.bin", first), published("data_batch_2.bin", second)}},
                     {"test.bin", {published("test_batch.bin", third)}}};
    dataset.train = "train.bin";
    dataset.test = "test.bin";
  }
};

TEST(Fetch, UnpacksAnArchive) {
  const Folder folder;
  const SmallArchive small;
  const HttpServer server([&](const std::string&, int) { return HttpServer::Answer{200, small.archive, 0, false}; });
  const Fetched fetched = fetch_all(small.dataset, {server.url(), folder / "cache", false});
  ASSERT_EQ(fetched.files.size(), 2U);
  EXPECT_EQ(read_whole(fetched.files[0].path), small.first + small.second);
  EXPECT_EQ(read_whole(fetched.files[1].path), small.third);
  EXPECT_EQ(names_in(folder / "cache/cifar10"), (std::set<std::string>{"train.bin", "test.bin", "classes.txt"}));
  EXPECT_EQ(fetch_all(small.dataset, {server.url(), folder / "cache", false}).files[0].origin, Origin::kept);
  EXPECT_EQ(server.requests(), 1);
  // Sources in folders: the archive, its parts, and a file that the cache already has.
  folder.write("cifar-10-binary.tar.gz", small.archive);
  fs::create_directories(folder / "parts/cifar-10-batches-bin");
  folder.write("parts/cifar-10-batches-bin/data_batch_2.bin", small.second);
  folder.write("parts/cifar-10-batches-bin/data_batch_1.bin", small.first);
  folder.write("parts/cifar-10-batches-bin/test_batch.bin", small.third);
  int which = 0;
  for (const std::string& from : {folder / "", folder / "parts", folder / "cache/cifar10"}) {
    const std::string cache = folder / ("copy" + std::to_string(++which));
    const Fetched copied = fetch_all(small.dataset, {from, cache, false});
    EXPECT_EQ(read_whole(copied.files[0].path), small.first + small.second) << from;
    EXPECT_EQ(read_whole(copied.files[1].path), small.third) << from;
    EXPECT_EQ(copied.files[0].origin, Origin::copied);
  }
}

TEST(Fetch, ADamagedArchiveIsRefused) {
  const Folder folder;
  const SmallArchive small;
  int taken = 0;
  const datasets::TarReader all{[](const std::string&, std::uint64_t) { return true; },
                                [&](const std::string&, const datasets::Buffer&) { ++taken; }};
  datasets::read_tar_gz(folder.write("whole.tar.gz", small.archive), all);
  EXPECT_EQ(taken, 4);
  for (const std::size_t cut : {std::size_t{30}, small.archive.size() / 2, small.archive.size() - 4})
    EXPECT_THROW(datasets::read_tar_gz(folder.write("cut.tar.gz", small.archive.substr(0, cut)), all), Error) << cut;
  EXPECT_THROW(datasets::read_tar_gz(folder.write("other.tar.gz", test::gzip(std::string(1024, 'x'))), all), Error);
  EXPECT_THROW(datasets::read_tar_gz(folder / "missing.tar.gz", all), Error);
  // A part of the wrong length counts as missing.
  Published longer = small.dataset;
  longer.files[1].parts[0].bytes = 4;
  const HttpServer server([&](const std::string&, int) { return HttpServer::Answer{200, small.archive, 0, false}; });
  EXPECT_TRUE(mentions(failure(longer, {server.url(), folder / "cache", false}).message(),
                       "has no test_batch.bin of the published size"));
  EXPECT_FALSE(fs::exists(folder / "cache/cifar10/test.bin"));
}

}  // namespace
}  // namespace probust
