// SPDX-License-Identifier: MIT
// probust export to .npz (npz_test.py compares these arrays with the rows), and rows that match docs/rows.schema.json, as
// JavaScript expects.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "probust/estimators/status.h"
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
  EXPECT_EQ(test::probust("export " + run + " -o " + folder / "none/r.npz").status, 5);
  EXPECT_EQ(test::probust("export " + run + " -o /dev/full --format csv").status, 2);
}

// ---- the schema of rows

using nlohmann::json;

json rows_schema() { return json::parse(test::read_whole(std::string(PROBUST_SOURCE_DIR) + "/docs/rows.schema.json")); }

std::string type_of(const json& value) {
  if (value.is_null()) return "null";
  if (value.is_number_integer()) return "integer";
  if (value.is_number()) return "number";
  return value.is_string() ? "string" : value.is_array() ? "array" : "object";
}

// Validates as much as the schema needs: types, lists of words, limits, entries of arrays.
void expect_valid(const json& value, const json& schema, const std::string& where) {
  const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
  const std::string type = type_of(value);
  const auto is = [&](const char* name) { return std::find(types.begin(), types.end(), name) != types.end(); };
  EXPECT_TRUE(is(type.c_str()) || (type == "integer" && is("number"))) << where << " is " << value;
  if (schema.contains("enum")) {
    EXPECT_NE(std::find(schema["enum"].begin(), schema["enum"].end(), value), schema["enum"].end()) << where << " is " << value;
  }
  if (value.is_number()) {
    EXPECT_GE(value.get<double>(), schema.value("minimum", -HUGE_VAL)) << where;
    EXPECT_LE(value.get<double>(), schema.value("maximum", HUGE_VAL)) << where;
  }
  if (value.is_array()) {
    for (const json& entry : value) expect_valid(entry, schema["items"], where);
  }
}

TEST(CliExport, RowsFollowTheSchema) {
  const json schema = rows_schema();
  const Folder folder;
  const std::string run = folder / "r.sqlite",
                    line = "estimate " + test::kDigits + " --limit 3 --quiet --sigma 0.1,0.3 --noise uniform:0.2 --per-class ";
  ASSERT_EQ(test::probust(line + "--estimator mc:20,taylor,auto:60 -o " + run).status, 0);
  const std::string exported = folder / "rows.jsonl";
  ASSERT_EQ(test::probust("export " + run + " -o " + exported).status, 0);
  std::istringstream lines(test::read_whole(exported));
  int count = 0;
  for (std::string text; std::getline(lines, text); ++count) {
    const json row = json::parse(text);
    for (const json& name : schema["required"]) EXPECT_TRUE(row.contains(name)) << name;
    for (const auto& [name, value] : row.items()) {
      ASSERT_TRUE(schema["properties"].contains(name)) << name << " is not in docs/rows.schema.json";
      expect_valid(value, schema["properties"][name], name);
    }
  }
  EXPECT_EQ(count, 27);
}

TEST(CliExport, TheSchemaHasEveryStatus) {
  const json words = rows_schema()["properties"]["status"]["enum"];
  for (const json& word : words) EXPECT_TRUE(status_of(word.get<std::string>())) << word;
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(Status::numerical); ++i) {
    const std::string own(word(Status{i}));
    EXPECT_NE(std::find(words.begin(), words.end(), own), words.end()) << own;
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(Status::numerical) + 1);
}

}  // namespace
}  // namespace probust
