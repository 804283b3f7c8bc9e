// SPDX-License-Identifier: MIT
// probust export to .npz; npz_test.py compares the arrays with the rows.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/command.h"
#include "support/run_file_of.h"
#include "support/run_rows.h"

namespace probust {
namespace {

using test::Finished;
using test::Folder;

TEST(CliExport, AFormatOfTextIsRefusedForArrays) {
  const Folder folder;
  const std::string run = test::run_file_of(folder / "r.sqlite", test::rows_of_p({0.5})), out = folder / "r.npz";
  const Finished refused = test::probust("export " + run + " -o " + out + " --format csv");
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(test::probust("export " + run + " -o " + folder / "none/r.npz").status, 2);
  EXPECT_EQ(test::probust("export " + run + " -o /dev/full --format csv").status, 2);
}

}  // namespace
}  // namespace probust
