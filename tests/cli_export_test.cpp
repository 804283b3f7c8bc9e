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

TEST(CliExport, ArraysHaveLogitsOfAllModels) {
  const Folder folder;
  std::vector<Row> rows;
  for (const char* model : {"large", "small"}) {
    for (Row row : test::rows_of_p({0.5, 0.6})) {
      row.model = model;
      rows.push_back(row);
    }
  }
  std::vector<PointRecord> points{{"large", 0, 1, 2, {1, 2, 3}}, {"large", 1, {}, 0, {4, 5, 6}}, {"small", 0, 1, 1, {7, 8}}};
  const std::string run = test::run_file_of(folder / "r.sqlite", rows, {{"data", "one"}}, {}, points), out = folder / "r.npz";
  ASSERT_EQ(test::probust("export " + run + " -o " + out).status, 0);
  const std::string check =
      "/usr/bin/env python3 -c \"import sys, numpy as np; a = np.load('" + out +
      "'); assert a['logits'].dtype == 'f4'; assert a['logits'].shape == (3, 3); assert a['logits'][1].tolist() == [4, 5, 6]; "
      "assert a['logits'][2, 1] == 8 and np.isnan(a['logits'][2, 2]); assert a['point_model'].tolist() == ['large'] * 2 + "
      "['small']; "
      "assert a['point_label'].tolist() == [1, -1, 1]; assert a['model'].tolist() == ['large'] * 2 + ['small'] * 2\"";
  if (std::system("/usr/bin/env python3 -c 'import numpy' 2>/dev/null") != 0) GTEST_SKIP() << "numpy is not installed";
  EXPECT_EQ(std::system(check.c_str()), 0);
}

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
