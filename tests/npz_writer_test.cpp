// SPDX-License-Identifier: MIT
// Archives of arrays: files can be read after they are written, and a file that has its final name is complete.
#include <gtest/gtest.h>

#include <filesystem>

#include "datasets/dataset.h"
#include "datasets/npz.h"
#include "probust/base/error.h"
#include "support/command.h"

namespace probust {
namespace {

using test::Folder;

TEST(NpzWriter, OurReaderReadsItsArrays) {
  const Folder folder;
  std::vector<float> x(3000);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k) * 0.5F;
  {
    NpzWriter writer(folder / "d.npz");
    writer.add("names", {"a", "größer"});
    writer.add("x", {1000, 3}, std::span<const float>(x));
    writer.add("y", {1000}, std::vector<std::int64_t>(1000, 7));
    EXPECT_FALSE(std::filesystem::exists(folder / "d.npz"));
    writer.close();
  }
  const Dataset data = read_dataset(folder / "d.npz", {}).value();
  EXPECT_EQ(data.x.shape, (Shape{1000, 3}));
  EXPECT_TRUE(std::equal(x.begin(), x.end(), data.x.data.begin()));
  EXPECT_EQ(data.labels, std::vector<std::int64_t>(1000, 7));
}

TEST(NpzWriter, AnIncompleteFileIsRemoved) {
  const Folder folder;
  { NpzWriter(folder / "d.npz").add("x", {1}, std::vector<double>{1}); }
  EXPECT_FALSE(std::filesystem::exists(folder / "d.npz"));
  EXPECT_FALSE(std::filesystem::exists(folder / "d.npz.partial"));
}

TEST(NpzWriter, FilesThatCannotBeWrittenAreErrors) {
  const Folder folder;
  EXPECT_THROW(NpzWriter(folder / "none/d.npz"), Error);
  EXPECT_THROW(NpzWriter(folder / ""), Error);
  NpzWriter full("/dev/full");
  full.add("x", {2}, std::vector<double>{1, 2});
  EXPECT_THROW(full.close(), Error);
}

}  // namespace
}  // namespace probust
