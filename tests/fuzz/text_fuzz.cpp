// SPDX-License-Identifier: MIT
//
// libFuzzer target for texts that users type and for lines of JSON: noise, estimators, events, class names, problems of `probust
// mvn`, and files that noise texts refer to.
#include <span>
#include <vector>

#include "cli/commands/mvn_lines.h"
#include "datasets/dataset.h"
#include "datasets/noise_files.h"
#include "probust/noise/noise.h"
#include "probust/onnx/preprocess.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/request.h"
#include "scratch.h"

namespace {

// Noise texts may refer to files; each name stands for this file.
probust::NoiseSource one_file(const std::string& path) {
  const probust::NoiseSource files = probust::datasets::noise_files();
  return {[=](const std::string&) { return files.array(path); }, [=](const std::string&) { return files.categories(path); }};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string file = probust::fuzz::as_file("noise.json", data, size);
  using probust::fuzz::value_or_error;
  value_or_error([&] { (void)probust::parse_noise(text, one_file(file)).text(); });
  value_or_error([&] { (void)probust::parse_noise("categorical:FILE.json", one_file(file)).text(); });
  value_or_error([&] { (void)probust::parse_estimator(text).text(); });
  value_or_error([&] { (void)probust::parse_estimators({text, "auto"}, {.each = 50, .total = std::nullopt}); });
  value_or_error([&] { (void)probust::event_of(probust::split_groups(text), true, 1, 10, {}); });
  value_or_error([&] { (void)probust::class_number(text, std::vector<std::string>{"a", "b"}); });
  value_or_error([&] { (void)probust::parse_layout(text, "layout"); });
  value_or_error([&] { (void)probust::read_class_names(file).value(); });
  (void)probust::cli::answer_mvn_line(text);  // never throws
  return 0;
}
