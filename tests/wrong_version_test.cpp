// SPDX-License-Identifier: MIT
// The most probable wrong version of an image, and the pages and commands that show runs with perturbations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/output/noisy_pictures.h"
#include "cli/output/sample_painter.h"
#include "cli/run/problem.h"
#include "probust/estimators/estimate.h"
#include "probust/perturb/noise_text.h"
#include "support/command.h"
#include "support/html.h"
#include "support/run_rows.h"

namespace probust {
namespace {

using cli::NoisySamples;
using cli::Problem;
using cli::SamplePainter;
using report::WrongVersion;
using test::Finished;
using test::Folder;
using test::kDigits;
using test::mentions;

constexpr std::uint64_t kSeed = 7;
constexpr std::int64_t kSamples = 200;

std::size_t count_of_text(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

Problem problem_of_digits() {
  cli::Arguments arguments;
  arguments.model = test::digits("digits.onnx");
  arguments.data.path = test::digits("points.npz");
  arguments.quiet = true;
  return cli::load_problem(arguments, {});
}

Row row_of_point(Problem& problem, std::int64_t index) {
  Row row = test::row_of_p(index, 0.5);
  row.predicted = row.target = predicted_class(problem.model.logits(problem.data->read(index, 1).x).row(0));
  return row;
}

// The normal z with which "exposure:s" drew a sample, computed from the brightest pixel: all values are multiplied by 2^(z s).
double z_of_exposure(const Tensor& x, std::span<const float> sample, double scale) {
  const auto brightest = std::max_element(x.data.begin(), x.data.end()) - x.data.begin();
  return std::log2(double{sample[brightest]} / x.data[brightest]) / scale;
}

TEST(NoisySamples, KnowHowImprobableTheirParametersAre) {
  const Problem problem = problem_of_digits();
  const Tensor x = problem.data->read(3, 1).x;
  for (const double scale : {1.0, 0.25}) {
    const NoisySamples samples = cli::noisy_samples(parse_noise("exposure:" + std::to_string(scale)), x, 3, kSamples, kSeed);
    for (std::int64_t i = 0; i < kSamples; ++i) {
      const double z = z_of_exposure(x, samples.x.row(i), scale);
      ASSERT_NEAR(samples.improbable[i], z * z, 1e-3 * (1 + z * z)) << i;
    }
  }
}

TEST(NoisySamples, EquallyProbableOnesAreOrderedByDistance) {
  const Problem problem = problem_of_digits();
  const Tensor x = problem.data->read(0, 1).x;
  for (const char* noise : {"exposure:uniform(-1,1)", "gaussian:0.1", "occlude:0.1", "shot:100"}) {
    const NoisySamples samples = cli::noisy_samples(parse_noise(noise), x, 0, 20, kSeed);
    EXPECT_EQ(samples.improbable, std::vector<double>(20, 0)) << noise;
    const auto nearest = std::min_element(samples.changes.begin(), samples.changes.end()) - samples.changes.begin();
    EXPECT_EQ(cli::most_probable(samples, std::vector<bool>(20, true)), nearest) << noise;
    std::vector<bool> others(20, true);
    others[nearest] = false;
    EXPECT_NE(cli::most_probable(samples, others), nearest) << noise;
    EXPECT_EQ(cli::most_probable(samples, std::vector<bool>(20, false)), std::nullopt) << noise;
  }
}

TEST(WrongVersion, IsTheWrongSampleWithTheMostProbableParameters) {
  Problem problem = problem_of_digits();
  const Noise noise = parse_noise("exposure:2");
  SamplePainter painter(*problem.data, "digits", kSamples, kSeed);
  const Image image = image_of(problem.data->point_shape(), "digits");
  std::int64_t found = 0;
  for (std::int64_t index = 0; index < 10; ++index) {
    const Row row = row_of_point(problem, index);
    const Tensor x = problem.data->read(index, 1).x;
    const Tensor samples = cli::noisy_samples(noise, x, index, kSamples, kSeed).x;
    const std::vector<std::int64_t> predicted = predicted_classes(problem.model.logits(samples));
    std::int64_t best = -1;
    for (std::int64_t i = 0; i < kSamples; ++i) {
      if (predicted[i] == row.target) continue;
      if (best < 0 || std::fabs(z_of_exposure(x, samples.row(i), 2)) < std::fabs(z_of_exposure(x, samples.row(best), 2)))
        best = i;
    }
    const WrongVersion version = painter.wrong_version(row, noise, problem.model, {});
    EXPECT_EQ(version.samples, kSamples);
    ASSERT_EQ(version.picture.has_value(), best >= 0) << index;
    if (best < 0) continue;
    ++found;
    EXPECT_EQ(version.predicted, predicted[best]);
    EXPECT_EQ(version.count, std::count(predicted.begin(), predicted.end(), predicted[best]));
    EXPECT_EQ(version.picture->bytes, cli::picture_of(image, samples.row(best), report::brightness_of(x)).bytes);
  }
  EXPECT_GT(found, 0);
}

TEST(WrongVersion, FollowsTheEvent) {
  Problem problem = problem_of_digits();
  SamplePainter painter(*problem.data, "digits", 50, kSeed);
  const Event one_group{std::vector<std::int64_t>(static_cast<std::size_t>(problem.model.classes()), 0)};
  const Noise noise = parse_noise("exposure:3");
  bool any = false;
  for (std::int64_t index = 0; index < 10; ++index) {
    const Row row = row_of_point(problem, index);
    any = any || painter.wrong_version(row, noise, problem.model, {}).picture;
    EXPECT_FALSE(painter.wrong_version(row, noise, problem.model, one_group).picture);
  }
  EXPECT_TRUE(any);
}

TEST(WrongVersion, OfAFixedChangeIsThatChange) {
  Problem problem = problem_of_digits();
  SamplePainter painter(*problem.data, "digits", 50, kSeed);
  EXPECT_EQ(painter.wrong_version(row_of_point(problem, 0), parse_noise("exposure:fixed(-4)"), problem.model, {}).samples, 1);
  EXPECT_EQ(painter.typical(0, parse_noise("exposure:fixed(-4)"), 3).size(), 1U);
}

TEST(SamplePainter, TypicalSamplesAreOrderedByTheirChange) {
  const Problem problem = problem_of_digits();
  SamplePainter painter(*problem.data, "digits", 100, kSeed);
  const Noise noise = parse_noise("gaussian:0.2");
  const Image image = image_of(problem.data->point_shape(), "digits");
  const Tensor x = problem.data->read(0, 1).x;
  const NoisySamples samples = cli::noisy_samples(noise, x, 0, 100, kSeed);
  std::vector<double> sorted = samples.changes;
  std::sort(sorted.begin(), sorted.end());
  const std::vector<report::Picture> pictures = painter.typical(0, noise, 2);
  ASSERT_EQ(pictures.size(), 2U);
  for (std::size_t k = 0; k < 2; ++k) {
    const auto i = std::find(samples.changes.begin(), samples.changes.end(), sorted[25 + 50 * k]) - samples.changes.begin();
    EXPECT_EQ(pictures[k].bytes, cli::picture_of(image, samples.x.row(i), report::brightness_of(x)).bytes) << k;
  }
}

// ---- pages

constexpr const char* kNoises =
    " --noise exposure:0.5,2 --noise 'exposure:1+gaussian:0.05' --noise 'rotate:uniform(-30,30)' --noise occlude:0.1 --sigma 0.1";

std::string perturbed_run(const std::string& path, const std::string& more = "") {
  const Finished done =
      test::probust("estimate " + kDigits + kNoises + " --limit 12 --estimator mc:40 --quiet -o " + path + " " + more);
  EXPECT_EQ(done.status, 0) << done.err;
  return path;
}

TEST(CliWrongVersions, RankShowsThemNextToItsPoints) {
  const Folder folder;
  const std::string run = perturbed_run(folder / "run.sqlite"), html = folder / "g.html";
  const std::string rank = "rank " + run + " --count 3 --gallery " + html;
  ASSERT_EQ(test::probust(rank + " --noise exposure:2").err, "");
  const std::string page = test::read_whole(html);
  EXPECT_EQ(test::misnested(page), "");
  EXPECT_EQ(test::foreign_parts(page), "");
  EXPECT_EQ(count_of_text(page, "<ul class=\"pairs\">"), 2U);
  EXPECT_EQ(count_of_text(page, "<li>"), 6U);
  EXPECT_EQ(count_of_text(page, "<img"), 6 + count_of_text(page, "<span>becomes "));
  EXPECT_GE(count_of_text(page, "<span>becomes "), 3U);  // those of the least robust points have one
  EXPECT_TRUE(mentions(page, "most probable wrong version"));
  ASSERT_EQ(test::probust(rank + " --samples 0").status, 0);
  EXPECT_FALSE(mentions(test::read_whole(html), "becomes"));
  ASSERT_EQ(test::probust(rank).status, 0);  // with all noises of the run, whose texts have different forms
  EXPECT_EQ(count_of_text(test::read_whole(html), "<li>"), 6U * 6U);
  EXPECT_EQ(count_of_text(test::read_whole(html), "There are no wrong versions"), 0U);
}

TEST(CliWrongVersions, AreTheSameWithoutARun) {
  const Folder folder;
  const std::string question = " --noise exposure:2 --limit 12 --estimator mc:40", html = folder / "g.html";
  const std::string run = folder / "run.sqlite";
  ASSERT_EQ(test::probust("estimate " + kDigits + question + " --quiet -o " + run).status, 0);
  ASSERT_EQ(test::probust("rank " + run + " --gallery " + html).status, 0);
  const std::string of_run = test::read_whole(html);
  ASSERT_EQ(test::probust("rank " + kDigits + question + " --quiet --gallery " + html).status, 0);
  const std::string page = test::read_whole(html);
  EXPECT_EQ(page.substr(page.find("<section")), of_run.substr(of_run.find("<section")));
}

TEST(CliWrongVersions, NeedTheModelOfTheRun) {
  const Folder folder;
  const std::string model = folder / "m.onnx", moved = folder / "moved.onnx", run = folder / "r.sqlite", html = folder / "g.html";
  std::filesystem::copy(test::digits("digits.onnx"), model);
  const std::string estimate =
      "estimate " + model + " '" + test::digits("points.npz") + "' --noise exposure:2 --limit 6 --estimator mc:20 --quiet -o ";
  ASSERT_EQ(test::probust(estimate + run).status, 0);
  std::filesystem::rename(model, moved);
  const std::string rank = "rank " + run + " --count 2 --gallery " + html;
  const Finished gone = test::probust(rank);
  EXPECT_EQ(gone.status, 0);
  EXPECT_TRUE(mentions(gone.err, "There are no wrong versions: ")) << gone.err;
  EXPECT_EQ(count_of_text(test::read_whole(html), "<img"), 4U);
  EXPECT_TRUE(mentions(test::read_whole(html), "with --model"));
  EXPECT_EQ(test::probust(rank + " --model " + moved).err, "");
  EXPECT_GT(count_of_text(test::read_whole(html), "<img"), 4U);
  folder.write("m.onnx", test::read_whole(moved) + " ");
  EXPECT_TRUE(mentions(test::probust(rank).err, "is not the run's model, or has changed since the run"));
  EXPECT_TRUE(mentions(test::probust("report " + run + " -o " + html).err, "is not the run's model"));
}

TEST(CliReport, ShowsPerturbationsByFamily) {
  const Folder folder;
  const std::string run = perturbed_run(folder / "run.sqlite"), html = folder / "r.html";
  const Finished done = test::probust("report " + run + " -o " + html);
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.err, "");
  const std::string page = test::read_whole(html);
  EXPECT_EQ(test::misnested(page), "");
  EXPECT_EQ(test::foreign_parts(page), "");
  EXPECT_TRUE(mentions(page, "href=\"#perturbations\""));
  for (const char* kind : {"exposure", "exposure---gaussian", "rotate", "occlude", "gaussian"})
    EXPECT_EQ(count_of_text(page, "<article id=\"kind-" + std::string(kind) + "\">"), 1U) << kind;
  EXPECT_TRUE(mentions(page, "when the point is perturbed at random"));
  // Five originals, two strengths of exposure, and three samples of each other noise.
  const std::size_t begin = page.find("<article"), end = page.find("</section>", begin);
  EXPECT_EQ(count_of_text(page.substr(begin, end - begin), "<img"), 5U + 2 + 4 * 3);
  const std::string table = page.substr(page.find("<table class=\"survey"));
  EXPECT_LT(table.find(">exposure</a>"), table.find(">gaussian</a>"));
}

TEST(CliReport, HasNoSectionOfPerturbationsForAdditiveNoise) {
  const Folder folder;
  const std::string run = folder / "run.sqlite", html = folder / "r.html";
  ASSERT_EQ(test::probust("estimate " + kDigits + " --sigma 0.1 --limit 4 --estimator mc:20 --quiet -o " + run).status, 0);
  ASSERT_EQ(test::probust("report " + run + " -o " + html).status, 0);
  EXPECT_FALSE(mentions(test::read_whole(html), "id=\"perturbations\""));
  EXPECT_TRUE(mentions(test::read_whole(html), "most probable wrong version"));
}

// ---- other commands on runs with perturbations

TEST(CliPerturbedRuns, CanBeComparedAndGated) {
  const Folder folder;
  const std::string a = perturbed_run(folder / "a.sqlite"), b = perturbed_run(folder / "b.sqlite", "--seed 1");
  const Finished compared = test::probust("compare " + a + " " + b + " --json");
  ASSERT_EQ(compared.status, 0) << compared.err;
  const auto groups = nlohmann::json::parse(compared.out)["comparisons"][0]["groups"];
  ASSERT_EQ(groups.size(), 6U);
  EXPECT_EQ(groups[4]["noise"], "rotate:uniform(-30,30)|clip:0,1");
  for (const auto& group : groups) EXPECT_EQ(group["points"], 12) << group["noise"];
  EXPECT_EQ(test::probust("compare " + a + " " + b).status, 0);

  const std::string gate = "gate " + b + " --baseline " + a + " --max-drop 1 --min-mean 0 --junit " + (folder / "g.xml");
  EXPECT_EQ(test::probust(gate).status, 0);
  EXPECT_TRUE(mentions(test::read_whole(folder / "g.xml"), "rotate:uniform(-30,30)|clip:0,1"));
  const auto checks = [&](const std::string& noise) {
    const Finished done = test::probust("gate " + a + " --min-mean 0 --json --noise '" + noise + "'");
    EXPECT_EQ(done.status, 0) << done.err;
    return nlohmann::json::parse(done.out)["checks"].size();
  };
  EXPECT_EQ(checks("exposure:2"), 1U);  // in the form that was passed to estimate
  EXPECT_EQ(checks("exposure:2|clip:0,1"), 1U);
  EXPECT_EQ(checks("exposure"), 2U);
  EXPECT_EQ(checks("exposure:0.5,2"), 2U);
  EXPECT_EQ(checks("exposure:1+gaussian:0.05"), 1U);
  EXPECT_EQ(checks("rotate:uniform(-30,30)"), 1U);
  const Finished unknown = test::probust("gate " + a + " --min-mean 0 --noise rotate:10");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_TRUE(mentions(unknown.err, "--noise is 'rotate:10', which is not in the run")) << unknown.err;
  EXPECT_EQ(test::probust("gate " + a + " --min-mean 1 --noise exposure:2").status, 1);
}

TEST(CliPerturbedRuns, OfTwoModels) {
  const Folder folder;
  std::filesystem::copy(test::digits("digits.onnx"), folder / "second.onnx");
  const std::string run = perturbed_run(folder / "run.sqlite", "--model " + (folder / "second.onnx")), html = folder / "r.html";
  EXPECT_EQ(test::probust("compare " + run).status, 0);
  EXPECT_EQ(test::probust("gate " + run + " --min-mean 0 --noise occlude:0.1").status, 0);
  const Finished done = test::probust("report " + run + " -o " + html);
  EXPECT_EQ(done.err, "");
  const std::string page = test::read_whole(html);
  EXPECT_EQ(count_of_text(page, "<table class=\"survey"), 2U);
  EXPECT_TRUE(mentions(page, "second.onnx: The most dangerous is "));
  EXPECT_FALSE(mentions(page, "There are no wrong versions"));
}

TEST(CliPerturbedRuns, SummaryAndCurveSelectNoiseAsItWasGiven) {
  const Folder folder;
  const std::string run = perturbed_run(folder / "run.sqlite");
  const auto groups = nlohmann::json::parse(test::probust("summary " + run + " --noise occlude:0.1 --json").out)["groups"];
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0]["noise"], "occlude:0.1|clip:0,1");
  const Finished curve = test::probust("curve " + run + " --noise exposure:0.5,2");
  EXPECT_EQ(curve.status, 0) << curve.err;
  EXPECT_TRUE(mentions(curve.out, "exposure|clip:0,1")) << curve.out;
}

}  // namespace
}  // namespace probust
