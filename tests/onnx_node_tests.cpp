// SPDX-License-Identifier: MIT
// probust-onnx-tests DIR...: runs ONNX's node tests. A case is a folder with model.onnx and test_data_set_*/{input,output}_*.pb;
// DIR is a case or a folder of them, at any depth. Prints a line for each case that does not pass, then "N passed, N failed, N
// skipped". The exit status is 1 if a case failed, and 2 if there are no cases.
//
// A node test is not a classifier: it is imported as a function of its inputs. Integers and booleans are constants of that
// function, as they are in classifiers (shapes, axes, masks). So are inputs after the first if an operator requires constants.
// Each case runs on both backends, with several lanes at once.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "conformance_skips.h"
#include "probust/exec/programs/program.h"
#include "probust/onnx/import.h"
#include "probust/onnx/lower/lower.h"
#include "probust/onnx/wire.h"

namespace probust::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLanes = 3;

enum class Verdict { passed, failed, skipped };

struct Outcome {
  Verdict verdict;
  std::string reason;
};

std::vector<std::byte> read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

bool is_floating(const std::string& type) { return type.find("float") != std::string::npos; }

// Whether the port's element type has a counterpart in probust.
bool is_represented(const Port& port) {
  static const std::vector<std::string> known = {"float32", "float64", "float16", "bfloat16", "int8",   "int16", "int32",
                                                 "int64",   "uint8",   "uint16",  "uint32",   "uint64", "bool"};
  return std::find(known.begin(), known.end(), port.type) != known.end();
}

std::string unrepresented_type(const ModelSummary& summary) {
  for (const auto* ports : {&summary.inputs, &summary.outputs}) {
    for (const Port& port : *ports) {
      if (!is_represented(port)) return port.type;
    }
  }
  return {};
}

std::map<std::string, Tensor> read_tensors(const fs::path& folder, const std::string& prefix, const std::vector<Port>& ports) {
  std::map<std::string, Tensor> tensors;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const fs::path path = folder / (prefix + std::to_string(i) + ".pb");
    if (fs::exists(path)) tensors[ports[i].name] = *onnx::read_tensor(read_bytes(path)).values;
  }
  return tensors;
}

// Imports with all floating-point inputs as variables; if that fails, with only the first one; if that also fails, with none.
Result<Function> import_case(const std::vector<std::byte>& bytes, const ModelSummary& summary,
                             const std::map<std::string, Tensor>& inputs) {
  const auto with_free = [&](std::size_t most) {
    FunctionOptions options;
    std::size_t free = 0;
    for (const Port& port : summary.inputs) {
      if (is_floating(port.type) && free < most) {
        ++free;
      } else if (inputs.count(port.name) != 0) {
        options.fixed[port.name] = inputs.at(port.name);
      }
    }
    return import_onnx_function(bytes, options);
  };
  Result<Function> function = with_free(summary.inputs.size());
  for (const std::size_t most : {1, 0}) {
    if (function || function.error().code != ErrorCode::unsupported) return function;
    Result<Function> narrower = with_free(most);
    if (narrower || narrower.error().code != ErrorCode::unsupported) function = std::move(narrower);
  }
  return function;
}

// Each output of the function, laid out [elements][kLanes].
std::vector<std::vector<float>> run(const Program& program, const Function& function,
                                    const std::map<std::string, Tensor>& inputs) {
  std::vector<std::vector<float>> in, out;
  std::vector<const float*> from;
  std::vector<float*> to;
  for (const std::string& name : function.inputs) {
    std::vector<float>& lanes = in.emplace_back();
    for (const float value : inputs.at(name).data) lanes.insert(lanes.end(), kLanes, value);
  }
  for (const ValueId id : function.graph.outputs)
    out.emplace_back(static_cast<std::size_t>(element_count(function.graph[id].shape) * kLanes));
  for (const auto& lanes : in) from.push_back(lanes.data());
  for (auto& lanes : out) to.push_back(lanes.data());
  Workspace workspace;
  program.run({kLanes, 1}, from, to, workspace);
  return out;
}

// ONNX's own tolerances; half precision is only as accurate as its type.
bool agrees(double actual, double expected, const std::string& type) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (actual == expected) return true;
  if (!is_floating(type)) return false;
  const bool half = type == "float16" || type == "bfloat16";
  return std::fabs(actual - expected) <= (half ? 1e-2 : 1e-5) + (half ? 1e-2 : 1e-3) * std::fabs(expected);
}

std::string compare(const std::vector<float>& lanes, const Shape& shape, const Tensor& expected, const Port& port) {
  if (shape != expected.shape) return "has shape " + to_string(shape) + " instead of " + to_string(expected.shape);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const float wanted = expected.data[i / kLanes];
    if (!agrees(lanes[i], wanted, port.type))
      return "element " + std::to_string(i / kLanes) + " is " + std::to_string(lanes[i]) + " instead of " +
             std::to_string(wanted);
  }
  return {};
}

Outcome run_data_set(const fs::path& folder, const std::vector<std::byte>& bytes, const ModelSummary& summary) {
  const auto inputs = read_tensors(folder, "input_", summary.inputs), outputs = read_tensors(folder, "output_", summary.outputs);
  const Result<Function> imported = import_case(bytes, summary, inputs);
  if (!imported) return {Verdict::failed, imported.error().message()};
  const Function& function = *imported;
  for (const auto compile : {compile_reference, compile_cpu}) {
    const auto results = run(*compile(function.graph), function, inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Port& port = summary.outputs[i];
      const std::string problem =
          compare(results[i], function.graph[function.graph.outputs[i]].shape, outputs.at(port.name), port);
      if (!problem.empty()) return {Verdict::failed, "output '" + port.name + "' " + problem};
    }
  }
  return {Verdict::passed, {}};
}

std::string listed_reason(const std::string& name) {
  for (const ConformanceSkip& skip : conformance_skips()) {
    const bool any_ending = skip.name.back() == '*';
    const std::string_view stem = skip.name.substr(0, skip.name.size() - (any_ending ? 1 : 0));
    if (any_ending ? name.rfind(stem, 0) == 0 : name == stem) return std::string(skip.reason);
  }
  return {};
}

Outcome run_case(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (const std::string reason = listed_reason(name); !reason.empty()) return {Verdict::skipped, reason};
  const std::vector<std::byte> bytes = read_bytes(folder / "model.onnx");
  const auto summary = summarize_onnx(bytes);
  if (!summary) return {Verdict::failed, summary.error().message()};
  if (summary->opset > 0 && summary->opset < onnx::kOldestOpset)
    return {Verdict::skipped, "opset " + std::to_string(summary->opset) + " is older than ours"};
  for (const OperatorUse& use : summary->operators) {
    const std::string domain = use.domain.empty() ? "" : use.domain + ".";
    if (!use.runs) return {Verdict::skipped, "operator " + domain + use.op_type + " is outside ours"};
  }
  if (const std::string type = unrepresented_type(*summary); !type.empty())
    return {Verdict::skipped, "values of type " + type + " are not represented"};
  Outcome outcome{Verdict::failed, "has no test data"};
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().rfind("test_data_set_", 0) != 0) continue;
    outcome = run_data_set(entry.path(), bytes, *summary);
    if (outcome.verdict == Verdict::failed) break;
  }
  return outcome;
}

std::vector<fs::path> find_cases(const fs::path& folder) {
  std::vector<fs::path> cases;
  if (fs::exists(folder / "model.onnx")) cases.push_back(folder);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_directory() && fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

Outcome run_case_safely(const fs::path& folder) {
  try {
    return run_case(folder);
  } catch (const Error& error) {
    return {Verdict::failed, error.message()};
  } catch (const std::exception& error) {
    return {Verdict::failed, error.what()};
  }
}

int run_folders(const std::vector<std::string>& folders) {
  std::map<Verdict, int> counts;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(folder)) {
      std::fprintf(stderr, "probust-onnx-tests: %s is not a folder; give folders with model.onnx\n", folder.c_str());
      return 2;
    }
    for (const fs::path& path : find_cases(folder)) {
      const Outcome outcome = run_case_safely(path);
      ++counts[outcome.verdict];
      if (outcome.verdict == Verdict::passed) continue;
      std::printf("%s %s: %s\n", outcome.verdict == Verdict::failed ? "FAILED" : "skipped", path.filename().c_str(),
                  outcome.reason.c_str());
    }
  }
  const int passed = counts[Verdict::passed], failed = counts[Verdict::failed], skipped = counts[Verdict::skipped];
  std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed > 0 ? 1 : passed + skipped == 0 ? 2 : 0;
}

}  // namespace
}  // namespace probust::test

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: probust-onnx-tests DIR...\n");
    return 2;
  }
  return probust::test::run_folders({argv + 1, argv + argc});
}
