// SPDX-License-Identifier: MIT
// probust noise and survey: the list, contact sheets, the page, and errors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "datasets/dataset.h"
#include "datasets/npz.h"
#include "probust/perturb/noise_list.h"
#include "probust/perturb/noise_text.h"
#include "support/command.h"
#include "support/html.h"

namespace probust {
namespace {

using test::Finished;
using test::Folder;
using test::kDigits;
using test::mentions;

Finished noise(const std::string& arguments) { return test::probust("noise " + arguments); }
Finished survey(const std::string& arguments) { return test::probust("survey " + arguments); }

const std::string kPoints = "'" + test::digits("points.npz") + "'";

// Height and width in the header of a PNG file.
std::array<std::int64_t, 2> size_of_png(const std::string& file) {
  const std::string bytes = test::read_whole(file);
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  const auto number = [&](std::size_t at) {
    std::int64_t value = 0;
    for (std::size_t k = 0; k < 4; ++k) value = value << 8 | static_cast<unsigned char>(bytes[at + k]);
    return value;
  };
  return {number(20), number(16)};
}

// Expects the error to be one line on stderr.
void expect_noise_refusal(const Finished& finished, int status, const std::string& words) {
  EXPECT_EQ(finished.status, status) << finished.err;
  EXPECT_EQ(test::lines_of(finished.err).size(), 1U) << finished.err;
  EXPECT_TRUE(mentions(finished.err, words)) << finished.err;
}

// ---- noise list

TEST(NoiseList, HasEveryFamilyOfThisProgram) {
  const Finished text = noise("list"), listed = noise("list --json");
  ASSERT_EQ(text.status, 0) << text.err;
  const auto list = nlohmann::json::parse(listed.out);
  EXPECT_EQ(list.size(), noise_list().size());
  for (const perturb::Family& family : perturb::families()) {
    EXPECT_TRUE(mentions(text.out, "\n " + std::string(family.name) + " ")) << family.name;
    const auto entry = std::find_if(list.begin(), list.end(), [&](const auto& each) { return each["name"] == family.name; });
    ASSERT_NE(entry, list.end()) << family.name;
    EXPECT_EQ((*entry)["kind"], "perturbation");
    EXPECT_TRUE((*entry)["identity"].is_null() || (*entry)["identity"] == family.parameters[0].identity) << family.name;
  }
  for (const char* additive : {"gaussian", "uniform", "laplace", "samples", "categorical"})
    EXPECT_TRUE(mentions(text.out, "\n " + std::string(additive) + " ")) << additive;
}

TEST(NoiseList, EveryExampleIsUnderstood) {
  for (const NoiseEntry& entry : noise_list()) {
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    EXPECT_FALSE(entry.number.empty()) << entry.name;
    if (mentions(entry.example, "FILE")) continue;
    EXPECT_EQ(parse_noise(entry.example).text(), entry.example);
  }
}

// docs/noise.md has the list of perturbations between two comments.
TEST(NoiseList, DocumentationIsUpToDate) {
  const std::string page = test::read_whole(std::string(PROBUST_SOURCE_DIR) + "/docs/noise.md");
  const Finished list = noise("list --format markdown");
  const std::string begin = "<!-- begin: probust noise list --format markdown -->\n", end = "<!-- end -->";
  const std::size_t from = page.find(begin) + begin.size(), to = page.find(end, from);
  ASSERT_NE(to, std::string::npos);
  EXPECT_EQ(page.substr(from, to - from), list.out)
      << "write the output of probust noise list --format markdown to docs/noise.md";
}

// ---- noise on values

TEST(NoiseOnValues, LooksAtAllDataWhateverPartIsEstimated) {
  const Folder folder;
  const auto lines = [&](const std::string& part) {
    const std::string csv = folder / (part.substr(2, part.find(' ') - 2) + ".csv");
    const std::string noises = " --noise missing:0.3=mean --noise resample:0.2 --noise data-covariance:0.5@0..49";
    const Finished done =
        test::probust("estimate " + kDigits + noises + " --estimator mc:50 --no-check --quiet " + part + " -o " + csv);
    EXPECT_EQ(done.status, 0) << done.err;
    return test::lines_of(test::read_whole(csv));
  };
  const auto all = lines("--limit 4"), some = lines("--offset 2 --limit 2");
  ASSERT_EQ(all.size(), 13U);
  ASSERT_EQ(some.size(), 7U);
  for (std::size_t i = 1; i < 7; ++i) EXPECT_EQ(some[i], all[i + 6]);
}

TEST(NoiseOnValues, ColumnsHaveTheirOwnRanges) {
  const auto base = [](const std::string& clip) {
    return test::probust("estimate '" + test::digits("digits.onnx") + "' " + kPoints +
                         " --sigma 0.1 --limit 1 --no-check --quiet " + "--estimator mc:20 --clip " + clip);
  };
  const Finished done = base("0,1@0..99+0,0.5@!0..99");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(mentions(done.out, "gaussian:0.1|clip:0,1@0..99+0,0.5@!0..99")) << done.out;
  expect_noise_refusal(base("0,1@256"), 2, "--clip has column 256, which does not exist; the points have columns 0..255");
  expect_noise_refusal(base("0,1@3+0,2@2..4"), 2, "--clip has column 3 twice");
  expect_noise_refusal(base("0,x@3"), 2, "--clip has '0,x@3', which is not a range");
}

TEST(NoiseList, RefusesOptionsOfShow) {
  expect_noise_refusal(noise("list --noise gaussian:0.1"), 2, "--noise applies to noise show only");
  expect_noise_refusal(noise("list " + kPoints), 2, "DATA applies to noise show only");
  expect_noise_refusal(noise("fit"), 2, "use list or show");
}

TEST(NoiseText, AnUnknownNameSuggestsSimilarOnes) {
  const std::string estimate = "estimate " + kDigits + " --noise ";
  expect_noise_refusal(test::probust(estimate + "brightnes:0.2"), 2, "did you mean brightness:0.1? See probust noise list");
  expect_noise_refusal(test::probust(estimate + "exposure:1+gausian:0.1"), 2, "did you mean gaussian:0.1?");
  expect_noise_refusal(test::probust(estimate + "zzzzzz:1"), 2, "or see probust noise list");
}

// A scale in stops is not compared with the range of the pixels.
TEST(NoiseText, OnlyScalesInTheUnitsOfTheDataAreComparedWithTheirRange) {
  const std::string estimate = "estimate " + kDigits + " --estimator mc:10 --limit 20 --noise ", words = "larger than the range";
  EXPECT_TRUE(mentions(test::probust(estimate + "gaussian:2").err, words));
  EXPECT_TRUE(mentions(test::probust(estimate + "gaussian:2 --clip 0,1").err, words));
  EXPECT_FALSE(mentions(test::probust(estimate + "exposure:2").err, words));
}

// ---- noise show

TEST(NoiseShow, WritesRowsOfImagesAndColumnsOfDraws) {
  const Folder folder;
  const Finished one = noise("show " + kPoints + " --noise exposure:1 --limit 2 --draws 3 -o " + (folder / "one.png"));
  ASSERT_EQ(one.status, 0) << one.err;
  const Finished two = noise("show " + kPoints + " --noise exposure:1 --limit 3 --draws 4 -o " + (folder / "two.png"));
  ASSERT_EQ(two.status, 0) << two.err;
  const auto [height, width] = size_of_png(folder / "one.png");
  const auto [more_height, more_width] = size_of_png(folder / "two.png");
  EXPECT_EQ(more_height - height, 102);  // one more row: 96 pixels and a gap
  EXPECT_EQ(more_width - width, 102);
}

TEST(NoiseShow, WritesSvgAndHtml) {
  const Folder folder;
  const std::string what =
      "show " + kPoints + " --noise brightness:0.1 --noise 'exposure:1+gaussian:0.1' --limit 2 --draws 2 -o ";
  ASSERT_EQ(noise(what + (folder / "s.svg")).status, 0);
  ASSERT_EQ(noise(what + (folder / "s.html")).status, 0);
  const std::string svg = test::read_whole(folder / "s.svg"), html = test::read_whole(folder / "s.html");
  for (const std::string& text : {svg, html}) {
    EXPECT_TRUE(mentions(text, "brightness:0.1"));
    EXPECT_TRUE(mentions(text, "exposure:1+gaussian:0.1"));
    EXPECT_EQ(test::foreign_parts(text), "");
    EXPECT_EQ(test::misnested(text), "");
    std::size_t images = 0;
    for (std::size_t at = text.find("<image"); at != std::string::npos; at = text.find("<image", at + 1)) ++images;
    EXPECT_EQ(images, 2U * 5U);
  }
}

TEST(NoiseShow, ColourImagesWithChannelsFirstAndLastLookAlike) {
  const Folder folder;
  Tensor first({2, 3, 8, 9}), last({2, 8, 9, 3});
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t k = 0; k < 72; ++k) {
        const float value = 0.5F + 0.5F * std::sin(static_cast<float>(k + 30 * c + 7 * i));
        first.data[(i * 3 + c) * 72 + k] = value;
        last.data[(i * 72 + k) * 3 + c] = value;
      }
    }
  }
  const std::vector<std::int64_t> labels{0, 1};
  write_npz(folder / "first.npz", first, labels);
  write_npz(folder / "last.npz", last, labels);
  for (const std::string name : {"first", "last"}) {
    const Finished shown = noise(
        fmt::format("show {} --noise exposure:1 --noise occlude:0.2 -o {}", folder / (name + ".npz"), folder / (name + ".png")));
    ASSERT_EQ(shown.status, 0) << shown.err;
  }
  EXPECT_EQ(test::read_whole(folder / "first.png"), test::read_whole(folder / "last.png"));
}

TEST(NoiseShow, Errors) {
  const Folder folder;
  const std::string sheet = " -o " + (folder / "s.png");
  expect_noise_refusal(noise("show --noise exposure:1" + sheet), 2, "DATA is missing");
  expect_noise_refusal(noise("show " + kPoints + " --noise exposure:1"), 2, "--output is missing");
  expect_noise_refusal(noise("show " + kPoints + sheet), 2, "--noise is missing");
  expect_noise_refusal(noise("show " + kPoints + " --noise exposure:1 -o " + (folder / "s.gif")), 2, ".png, .svg or .html");
  expect_noise_refusal(noise("show " + kPoints + " --noise exposure:1 -o " + (folder / "none/s.png")), 5, "cannot be written");
  expect_noise_refusal(noise("show " + kPoints + " --noise exposure:1 --limit 0" + sheet), 2, "");
  expect_noise_refusal(noise("show " + kPoints + " --noise exposur:1" + sheet), 2, "did you mean exposure:1");
  ASSERT_EQ(test::probust("data iris -o " + (folder / "iris.csv")).status, 0);
  expect_noise_refusal(noise("show " + (folder / "iris.csv") + " --noise gaussian:0.1" + sheet), 2, "needs images");
  EXPECT_FALSE(std::filesystem::exists(folder / "s.png"));
}

// ---- survey

TEST(CliSurvey, HasEveryFamilyWithStrengths) {
  const Folder folder;
  const Finished done = survey(kDigits + " --limit 12 --samples 20 --json --quiet -o " + (folder / "s.html"));
  ASSERT_EQ(done.status, 0) << done.err;
  const auto entries = nlohmann::json::parse(done.out);
  const std::string page = test::read_whole(folder / "s.html");
  EXPECT_EQ(test::misnested(page), "");
  EXPECT_EQ(test::foreign_parts(page), "");
  std::size_t surveyed = 1;  // gaussian
  for (const perturb::Family& family : perturb::families()) {
    const bool has = std::any_of(entries.begin(), entries.end(), [&](const auto& each) { return each["name"] == family.name; });
    EXPECT_EQ(has, family.strengths[1] != 0) << family.name;
    EXPECT_EQ(has, mentions(page, "id=\"kind-" + std::string(family.name) + "\"")) << family.name;
    surveyed += has ? 1 : 0;
  }
  EXPECT_EQ(entries.size(), surveyed);
  double before = 0;
  for (const auto& entry : entries) {  // the most dangerous noise comes first
    const double p = entry["strengths"][1]["p"]["mean"];
    EXPECT_GE(p, before) << entry["name"];
    before = p;
  }
}

TEST(CliSurvey, RowsAreThoseOfEstimate) {
  const Folder folder;
  const std::string run = folder / "run.sqlite", page = folder / "s.html";
  const std::string what = kDigits + " --limit 6 --samples 20 --families exposure,occlude --run " + run + " -o " + page;
  const Finished done = survey(what);
  ASSERT_EQ(done.status, 0) << done.err;
  ASSERT_EQ(test::probust("export " + run + " -o " + (folder / "rows.jsonl")).status, 0);
  const auto rows = test::rows(test::read_whole(folder / "rows.jsonl"));
  EXPECT_EQ(rows.size(), 6U * 2U * 3U);
  const auto direct = test::rows(
      test::probust("estimate " + kDigits + " --limit 6 --estimator mc:20 --noise exposure:1 --format jsonl --quiet").out);
  std::size_t same = 0;
  for (const auto& row : rows) {
    for (const auto& own : direct) {
      if (row["noise"] != own["noise"] || row["index"] != own["index"]) continue;
      EXPECT_EQ(row["p"], own["p"]) << own["noise"];
      ++same;
    }
  }
  EXPECT_EQ(same, 6U);
  const Finished again = survey(what);  // nothing remains to be estimated
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_TRUE(mentions(again.err, "6 points were already done")) << again.err;
  EXPECT_EQ(again.out, done.out);
  expect_noise_refusal(survey(what + " --seed 1 --quiet"), 7, run);
  EXPECT_EQ(survey(what + " --seed 1 --force-new --quiet").status, 0);
}

TEST(CliSurvey, TheReferenceAlone) {
  const Folder folder;
  const Finished done = survey(kDigits + " --limit 2 --samples 10 --families gaussian --quiet -o " + (folder / "s.html"));
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(mentions(done.out, "At medium strength, gaussian:0.05, a prediction survives")) << done.out;
}

TEST(CliSurvey, WarnsOfDataBeyondPixelsFromZeroToOne) {
  const Folder folder;
  const std::string what = kDigits + " --scale 1 --limit 2 --samples 10 --families exposure --no-check -o " + (folder / "s.html");
  const Finished done = survey(what);
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(mentions(done.err, "Strengths are for pixels from 0 to 1, but the data have values from 0 to 2")) << done.err;
  EXPECT_TRUE(mentions(test::read_whole(folder / "s.html"), "values from 0 to 2"));
}

TEST(CliSurvey, Errors) {
  const Folder folder;
  const std::string page = " -o " + (folder / "s.html");
  expect_noise_refusal(survey(kDigits), 2, "--output is missing");
  expect_noise_refusal(survey(kDigits + " -o " + (folder / "s.pdf")), 2, "does not end in .html");
  expect_noise_refusal(survey(kDigits + " -o " + (folder / "none/s.html")), 5, "cannot be written");
  expect_noise_refusal(survey(kDigits + " --families exposre" + page), 2, "did you mean exposure?");
  expect_noise_refusal(survey(kDigits + " --families laplace" + page), 2,
                       "which is not a perturbation of the survey; use some of gaussian");
  expect_noise_refusal(survey(kDigits + " --limit 0" + page), 2, "");
  expect_noise_refusal(survey(kDigits + " --force-new" + page), 2, "--force-new needs a run to replace");
  expect_noise_refusal(survey(kDigits + " --run rows.csv" + page), 2, "does not end in .sqlite");
  ASSERT_EQ(test::probust("data iris -o " + (folder / "iris.csv")).status, 0);
  ASSERT_EQ(
      test::probust("train --data " + (folder / "iris.csv") + " --model linear --epochs 1 --quiet -o " + (folder / "i.onnx"))
          .status,
      0);
  expect_noise_refusal(survey((folder / "i.onnx") + " " + (folder / "iris.csv") + page), 2, "needs images");
  EXPECT_FALSE(std::filesystem::exists(folder / "s.html"));
}

TEST(SurveyedStrengths, InPixelsGrowWithTheImage) {
  perturb::Family family;
  family.strengths = {1, 2, 4};
  family.parameters = {{"across", "pixels", 0}};
  EXPECT_EQ(strengths_for(family, Image{3, 32, 48, {}}), (std::array{1.0, 2.0, 4.0}));
  EXPECT_EQ(strengths_for(family, Image{3, 224, 300, {}}), (std::array{7.0, 14.0, 28.0}));
  EXPECT_EQ(strengths_for(family, Image{1, 28, 28, {}}), (std::array{0.88, 1.8, 3.5}));
  family.parameters = {{"angle", "degrees", 0}};
  EXPECT_EQ(strengths_for(family, Image{3, 224, 300, {}}), (std::array{1.0, 2.0, 4.0}));
}

}  // namespace
}  // namespace probust
