// SPDX-License-Identifier: MIT
// The report of a run: its contents, that it is self-contained, and that no name or value can break it.
#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <filesystem>

#include "probust/base/text.h"
#include "report/page.h"
#include "report/picture.h"
#include "store/run_file.h"
#include "support/command.h"
#include "support/html.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

using report::Entries;
using report::Pictures;
using store::RunFile;
using test::Finished;
using test::Folder;
using test::kDigits;

bool says(const std::string& html, const std::string& part) { return html.find(part) != std::string::npos; }

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

struct Size {
  std::int64_t points = 8;
  std::vector<double> sigmas{0.1, 0.2, 0.4};
  std::vector<std::string> estimators{"auto:50", "mc:200"};
  std::vector<std::string> models{""};
  bool labels = true, logits = true;
};

// Point i has p = 1 - (i mod 10) sigma / 2, label i mod 4 and, if i mod 4 is 3, the wrong prediction 0.
Results results_of_size(const Size& size) {
  Results results;
  for (const std::string& model : size.models) {
    for (std::int64_t i = 0; i < size.points; ++i) {
      const std::int64_t predicted = i % 4 == 3 ? 0 : i % 4;
      const auto label = size.labels ? std::optional(i % 4) : std::nullopt;
      for (const double sigma : size.sigmas) {
        for (const std::string& estimator : size.estimators) {
          Row row{.index = i,
                  .label = label,
                  .predicted = predicted,
                  .target = predicted,
                  .noise = "gaussian:" + shortest_text(sigma),
                  .sigma = sigma,
                  .estimator = estimator,
                  .estimate = {},
                  .model = model};
          const double kept = std::round(200 * (1 - static_cast<double>(i % 10) * sigma / 5));
          row.estimate.p = kept / 200;
          row.estimate.p_fail = 1 - row.estimate.p;
          row.estimate.ci_low = std::max(0.0, row.estimate.p - 0.05);
          row.estimate.ci_high = std::min(1.0, row.estimate.p + 0.05);
          row.estimate.forwards = estimator == "mc:200" ? 200 : 50;
          results.rows.push_back(row);
        }
      }
      PointRecord point{model, i, label, predicted, {}};
      if (size.logits) point.logits = {1, 0.1F * static_cast<float>(i % 7), 0, 0.5F};
      results.points.push_back(point);
    }
  }
  return results;
}

report::Run run_of_size(const Size& size = {}) {
  return {"night.sqlite",
          results_of_size(size),
          {{"version", "9.8.7"}, {"model", "crc32 12345678, 10 bytes"}, {"target", "predicted"}, {"top", "1"}},
          {{"command", "probust estimate net.onnx x.npz"},
           {"seconds", "192"},
           {"model_path", "nets/net.onnx"},
           {"data_path", "x.npz"}},
          {"Coat", "Bag", "Shirt", "Boot"}};
}

// Writes the page, and checks that it is well formed and self-contained and that its tables are accessible.
std::string sound_page(const report::Run& run, const Pictures& pictures = {}) {
  const std::string html = report::page(run, pictures);
  EXPECT_EQ(test::misnested(html), "");
  EXPECT_EQ(test::foreign_parts(html), "");
  EXPECT_EQ(count_of(html, "<table"), count_of(html, "<caption>"));
  EXPECT_EQ(count_of(html, "<th "), count_of(html, "scope=\"row\"") + count_of(html, "scope=\"col\""));
  EXPECT_FALSE(says(html, ">nan")) << "a NaN is printed";
  EXPECT_FALSE(says(html, "inf<"));
  return html;
}

TEST(Report, CoversTheQuestionsOfAReader) {
  const std::string html = sound_page(run_of_size());
  for (const char* part : {"Robustness of net.onnx on x.npz", "75.0%", "6 of 8", "3 min 12 s", "gaussian:0.1", "1 (Bag)",
                           "probust estimate net.onnx x.npz", "crc32 12345678, 10 bytes", "9.8.7", "Pearson", "Certified radii",
                           "night.sqlite", "sigma at p = 0.9", "softmax"})
    EXPECT_TRUE(says(html, part)) << part;
  EXPECT_GE(count_of(html, "<svg"), 5U);
}

TEST(Report, MeansAreThoseOfTheRows) {
  report::Run run = run_of_size({.points = 2, .sigmas = {0.1}, .estimators = {"mc:200"}});
  run.results.rows[0].estimate.p = 0.25;
  run.results.rows[1].estimate.p = 0.5;
  EXPECT_TRUE(says(sound_page(run), ">0.3750<"));
}

report::Run labelled_run(const std::string& file, double p_label) {
  report::Run run = run_of_size({.sigmas = {0.1}, .estimators = {"mc:200"}});
  run.file = file;
  for (Row& row : run.results.rows) row.estimate.p_label = p_label;
  return run;
}

TEST(Report, TwoRunsAreComparedInTheFirstSentence) {
  const report::Run first = labelled_run("old.sqlite", 0.75), second = labelled_run("new.sqlite", 0.25);
  const std::string html = report::page(first, {}, &second);
  EXPECT_EQ(test::misnested(html), "");
  EXPECT_EQ(test::foreign_parts(html), "");
  const std::string sentence =
      "At gaussian:0.1, new.sqlite keeps the correct prediction under noise less often than old.sqlite: 25% against 75%";
  EXPECT_LT(html.find(sentence), html.find("<section"));
  EXPECT_TRUE(says(html, "id=\"comparison\""));
  EXPECT_FALSE(says(sound_page(first), "id=\"comparison\""));
}

TEST(Report, AccuracyUnderNoiseIsNextToMeanP) {
  const std::string html = sound_page(labelled_run("run.sqlite", 0.35));
  EXPECT_TRUE(says(html, "accuracy under noise at gaussian:0.1"));
  EXPECT_TRUE(says(html, "35.0%"));
  EXPECT_FALSE(says(sound_page(run_of_size()), "accuracy under noise at"));
}

TEST(Report, NoisesOfFilesHaveShortNames) {
  Results results = results_of_size({.points = 2, .sigmas = {0.1}});
  results.rows[0].noise = "gaussian:cov=/a/long/path/cov.npy@0..3";
  results.rows[1].noise = "samples:mixed,file=/b/x.npy";
  results.rows[2].noise = "rotate:5+transform:/c/decoder.onnx:0.5|clip:0,1";
  const std::map<std::string, std::string> full = report::shorten_noises(results);
  EXPECT_EQ(results.rows[0].noise, "gaussian:cov=cov.npy@0..3");
  EXPECT_EQ(results.rows[1].noise, "samples:mixed,file=x.npy");
  EXPECT_EQ(results.rows[2].noise, "rotate:5+transform:decoder.onnx:0.5|clip:0,1");
  EXPECT_EQ(full.at("samples:mixed,file=x.npy"), "samples:mixed,file=/b/x.npy");
  results.rows[0].noise = "gaussian:cov=/a/cov.npy";
  results.rows[1].noise = "gaussian:cov=/b/cov.npy";
  report::shorten_noises(results);
  EXPECT_EQ(results.rows[0].noise, "gaussian:cov=/a/cov.npy") << "two noise models would have the same name";
}

TEST(Report, NamesCannotBreakThePage) {
  report::Run run = run_of_size();
  const std::string hostile = "</pre><script>alert('x')</script>\"'&<img src=x onerror=y>\x1b[31m";
  run.file = hostile;
  run.class_names = {hostile, hostile, "Shirt", "Boot"};
  run.information = {{"command", hostile}, {"model_path", hostile}, {"data_path", hostile}, {hostile, hostile}};
  run.configuration.emplace_back("target", hostile);
  run.results.rows[0].estimate.set(Status::inexact, hostile);
  for (Row& row : run.results.rows) row.noise += "@" + hostile;
  const std::string html = sound_page(run, {{}, hostile});
  EXPECT_FALSE(says(html, "<script"));
  EXPECT_FALSE(says(html, "<img"));
  EXPECT_FALSE(says(html, "\x1b"));
  EXPECT_TRUE(says(html, "&lt;script&gt;"));
}

TEST(Report, LabelsMayBeMissing) {
  const std::string html = sound_page(run_of_size({.labels = false}));
  EXPECT_TRUE(says(html, "no labels"));
  EXPECT_TRUE(says(html, "predicted class"));
}

TEST(Report, OneScaleAndOneEstimatorAreEnough) {
  const std::string html = sound_page(run_of_size({.sigmas = {0.1}, .estimators = {"taylor"}, .logits = false}));
  EXPECT_TRUE(says(html, "a single scale"));
  EXPECT_TRUE(says(html, "nothing to compare"));
  EXPECT_TRUE(says(html, "no certified radii"));
  EXPECT_FALSE(says(html, "sigma at p"));
}

TEST(Report, NoiseMayHaveNoScale) {
  report::Run run = run_of_size({.sigmas = {0.1}});
  for (Row& row : run.results.rows) {
    row.sigma.reset();
    row.noise = "categorical:flips.json";
  }
  EXPECT_TRUE(says(sound_page(run), "categorical:flips.json"));
}

TEST(Report, OnePointIsEnough) { EXPECT_TRUE(says(sound_page(run_of_size({.points = 1})), "1 of 1 have p")); }

TEST(Report, UnansweredPointsAreCounted) {
  report::Run run = run_of_size();
  for (std::size_t i : {0U, 7U, 9U}) {
    run.results.rows[i].estimate.p = run.results.rows[i].estimate.p_fail = NAN;
    run.results.rows[i].estimate.ci_low = run.results.rows[i].estimate.ci_high = NAN;
    run.results.rows[i].estimate.set(Status::nonfinite, "the point has NaN");
  }
  const std::string html = sound_page(run);
  EXPECT_TRUE(says(html, "3 of 48 estimates have no p"));
  EXPECT_TRUE(says(html, "the point has NaN"));
}

TEST(Report, ARunWithoutPIsAPage) {
  report::Run run = run_of_size();
  for (Row& row : run.results.rows) {
    row.estimate = {};
    row.estimate.p = row.estimate.p_fail = NAN;
    row.estimate.set(Status::nonfinite, "");
  }
  EXPECT_TRUE(says(sound_page(run), "48 of 48 estimates have no p"));
}

TEST(Report, SeveralModelsAreNamed) {
  const std::string html = sound_page(run_of_size({.models = {"plain", "robust"}}));
  EXPECT_TRUE(says(html, "accuracy without noise, robust"));
  EXPECT_TRUE(says(html, "mean p of plain at gaussian:0.1"));
}

TEST(Report, ManyPointsMakeASmallPage) {
  const std::string html = sound_page(run_of_size({.points = 20000}));
  EXPECT_LT(html.size(), 1'000'000U);
  EXPECT_LE(count_of(html, "<circle") + count_of(html, "<path"), 3000U);
  EXPECT_TRUE(says(html, "one in 20 of 20,000 is shown"));
}

TEST(Report, ManyClassesAndScalesStayReadable) {
  report::Run run = run_of_size({.points = 3000, .sigmas = {0.01, 0.02, 0.03, 0.04, 0.05, 0.06}});
  for (Row& row : run.results.rows) row.label = row.index % 500;
  const std::string html = sound_page(run);
  EXPECT_TRUE(says(html, "Of 500 classes"));
  EXPECT_LT(html.size(), 1'000'000U);
}

TEST(Report, ReportsWhatHasToSurvive) {
  report::Run run = run_of_size();
  run.configuration = {{"target", "label"}, {"top", "5"}};
  const std::string html = sound_page(run);
  EXPECT_TRUE(says(html, "predicts the true label of a point"));
  EXPECT_TRUE(says(html, "among the 5 largest logits"));
}

// ---- pictures

std::vector<std::uint8_t> base64_bytes(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  unsigned bits = 0, group = 0;
  for (const char letter : text) {
    if (letter == '=') break;
    group = group << 6 | static_cast<unsigned>(digits.find(letter));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<std::uint8_t>(group >> bits & 255));
  }
  return bytes;
}

// The pixels of the PNG in a data URI.
report::Picture decoded(const std::string& uri) {
  const std::vector<std::uint8_t> file = base64_bytes(uri.substr(uri.find(',') + 1));
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, file.data(), file.size()), 0) << image.message;
  report::Picture picture{image.height, image.width, (image.format & PNG_FORMAT_FLAG_COLOR) != 0 ? 3 : 1, {}};
  image.format = picture.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  picture.bytes.resize(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, picture.bytes.data(), 0, nullptr), 0) << image.message;
  return picture;
}

TEST(Pictures, KeepTheirPixels) {
  for (const std::int64_t channels : {1, 3}) {
    Tensor x({1, channels, 3, 5});
    for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] = static_cast<float>(i * 5 % 256) / 255.0F;
    const report::Picture picture = decoded(report::png_uri(report::picture_of(x, {})));
    EXPECT_EQ(picture.height, 3);
    EXPECT_EQ(picture.width, 5);
    ASSERT_EQ(picture.channels, channels);
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t pixel = 0; pixel < 15; ++pixel)
        EXPECT_EQ(picture.bytes[pixel * channels + c], (c * 15 + pixel) * 5 % 256) << c << " " << pixel;
    }
  }
}

TEST(Pictures, LargeOnesAreAveraged) {
  Tensor x({1, 1, 200, 400});
  for (std::int64_t i = 0; i < 200; ++i) {
    for (std::int64_t j = 0; j < 400; ++j) x.data[i * 400 + j] = (i % 4 < 2 ? 0.5F : 0.0F) + (j % 4 < 2 ? 0.5F : 0.0F);
  }
  const report::Picture picture = report::picture_of(x, {}, 100);
  EXPECT_EQ(picture.height, 50);
  EXPECT_EQ(picture.width, 100);
  for (const std::uint8_t byte : picture.bytes) EXPECT_EQ(byte, 128);
}

TEST(Pictures, OtherRangesAreStretchedAndNanIsBlack) {
  const Tensor x({1, 1, 1, 4}, {-2, 0, 2, NAN});
  const report::Brightness brightness = report::brightness_of(x);
  EXPECT_EQ(brightness.black, -2);
  EXPECT_EQ(brightness.white, 2);
  EXPECT_EQ(report::picture_of(x, brightness).bytes, (std::vector<std::uint8_t>{0, 128, 255, 0}));
  EXPECT_EQ(report::brightness_of(Tensor({1, 1, 1, 2}, {0.25F, 0.5F})).white, 1);
}

TEST(Pictures, OnlyGrayAndColourImagesAreImages) {
  EXPECT_TRUE(report::is_image({1, 28, 28}));
  EXPECT_TRUE(report::is_image({3, 32, 32}));
  for (const Shape& other : {Shape{4}, Shape{2, 8, 8}, Shape{8, 8}, Shape{1, 1, 30}, Shape{}})
    EXPECT_FALSE(report::is_image(other));
}

// ---- the command

// A run of the digits that records `data` as the path of its data.
std::string run_of_digits(const Folder& folder, const std::string& data) {
  const std::string run = folder / "run.sqlite";
  const Finished finished = test::probust("estimate " + kDigits + " --sigma 0.1,0.2 --estimator mc:50,taylor --quiet -o " + run);
  EXPECT_EQ(finished.status, 0) << finished.err;
  const store::Configuration configuration = RunFile::read(run).configuration();
  RunFile::open(run, configuration, RunFile::Mode::resume).set_information({{"data_path", data}});
  return run;
}

TEST(CliReport, HasTheImagesOfTheRun) {
  const Folder folder;
  const std::string run = run_of_digits(folder, test::digits("points.npz"));
  const Finished finished = test::probust("report " + run + " --samples 0 -o " + folder / "r.html");
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out + finished.err, "");
  const std::string html = test::read_whole(folder / "r.html");
  EXPECT_EQ(test::misnested(html), "");
  EXPECT_EQ(test::foreign_parts(html), "");
  EXPECT_EQ(count_of(html, "<img"), 24U);
  EXPECT_FALSE(says(html, "There are no images"));
}

TEST(CliReport, OpensWithTheSentenceAndTheImages) {
  const Folder folder;
  const std::string run = run_of_digits(folder, test::digits("points.npz")), html = folder / "both.html";
  const Finished finished = test::probust("report " + run + " " + run + " -o " + html);
  EXPECT_EQ(finished.status, 0) << finished.err;
  const std::string page = test::read_whole(html);
  EXPECT_LT(page.find("keeps the correct prediction under noise about as often as"), page.find("<img"));
  EXPECT_LT(page.rfind("<img"), page.find("<table"));
  EXPECT_EQ(test::probust("report " + run + " " + run + " " + run + " -o " + html).status, 2);
  EXPECT_EQ(test::probust("report " + run + " " + folder / "nothing.sqlite" + " -o " + html).status, 3);
}

TEST(CliReport, ReportsWhyThereAreNoImages) {
  const Folder folder;
  const std::string run = run_of_digits(folder, folder / "gone.npz"), html = folder / "r.html";
  const Finished gone = test::probust("report " + run + " -o " + html);
  EXPECT_EQ(gone.status, 0) << gone.err;
  EXPECT_TRUE(says(gone.err, "--data")) << gone.err;
  EXPECT_TRUE(says(test::read_whole(html), "There are no images: "));
  EXPECT_EQ(count_of(test::read_whole(html), "<img"), 0U);

  EXPECT_EQ(test::probust("report " + run + " --samples 0 --data " + test::digits("points.npz") + " -o " + html).err, "");
  EXPECT_EQ(count_of(test::read_whole(html), "<img"), 24U);

  const std::string other = folder.write("other.csv", "1,2\n");
  const Finished changed = test::probust("report " + run + " --data " + other + " -o " + html);
  EXPECT_TRUE(says(changed.err, "is not the run's data file")) << changed.err;
}

TEST(CliReport, RankShowsItsPoints) {
  const Folder folder;
  const std::string run = run_of_digits(folder, test::digits("points.npz")), html = folder / "g.html";
  const Finished finished = test::probust("rank " + run + " --count 3 --samples 0 --gallery " + html);
  EXPECT_EQ(finished.status, 0) << finished.err;
  const std::string page = test::read_whole(html);
  EXPECT_EQ(test::misnested(page), "");
  EXPECT_EQ(test::foreign_parts(page), "");
  EXPECT_EQ(count_of(page, "<img"), 24U);  // two estimators, two scales, three points at each end
  EXPECT_EQ(test::probust("rank " + run + " --gallery " + folder / "g.png").status, 2);
  const Finished without = test::probust("rank " + run + " --gallery " + html + " --data " + folder / "gone.npz");
  EXPECT_EQ(without.status, 3);
  EXPECT_TRUE(says(without.err, "probust: There are no images")) << without.err;
}

TEST(CliReport, PointsInATableHaveNoImages) {
  const Folder folder;
  test::OnnxBuilder builder;
  builder.input("x", {-1, 2}).weight("w", Tensor({2, 2}, {1, 0, 0, 1})).node("MatMul", {"x", "w"}, {"y"});
  const std::string model = folder.write("m.onnx", builder.output("y", {-1, 2}).bytes());
  const std::string points = folder.write("x.csv", "1,2,1\n2,1,0\nnan,1,0\n");
  const std::string run = folder / "r.sqlite", html = folder / "r.html";
  ASSERT_EQ(test::probust("estimate " + model + " " + points + " --sigma 1 --estimator taylor --quiet -o " + run).status, 0);
  const Finished finished = test::probust("report " + run + " --data " + points + " -o " + html);
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_TRUE(says(test::read_whole(html), "points of shape [2] are not images"));
  EXPECT_TRUE(says(test::read_whole(html), "nonfinite"));
}

TEST(CliReport, RejectsUnwritableOutputs) {
  const Folder folder;
  const std::string run = run_of_digits(folder, test::digits("points.npz")), bytes = test::read_whole(run);
  EXPECT_EQ(test::probust("report " + run + " -o " + folder / "r.pdf").status, 2);
  EXPECT_EQ(test::probust("report " + run + " -o " + folder / "no/r.html").status, 5);
  EXPECT_EQ(test::probust("report " + run).status, 2);
  EXPECT_EQ(test::probust("report " + folder / "nothing.sqlite" + " -o " + folder / "r.html").status, 3);
  std::filesystem::create_hard_link(run, folder / "same.html");
  EXPECT_EQ(test::probust("report " + run + " -o " + folder / "same.html").status, 2);
  EXPECT_EQ(test::read_whole(run), bytes);
  std::filesystem::create_symlink("/dev/full", folder / "full.html");
  const Finished full = test::probust("report " + run + " -o " + folder / "full.html");
  EXPECT_EQ(full.status, 5);
  EXPECT_TRUE(says(full.err, "could not be written")) << full.err;
}

}  // namespace
}  // namespace probust
