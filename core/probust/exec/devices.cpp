// SPDX-License-Identifier: MIT
#include "probust/exec/devices.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "probust/base/text.h"
#include "probust/exec/host/host_device.h"
#include "probust/exec/plan/chunked_executor.h"
#include "probust/exec/plan/composable_executor.h"
#include "probust/passes/compose.h"

namespace probust {
namespace {

struct Backend {
  std::string_view name;
  Compile compile;
};

// The only list of backends for the CPU. Browsers have only Eigen's products, because the other algorithms would make the
// download larger.
constexpr Backend kBackends[] = {
#ifdef __EMSCRIPTEN__
    {"cpu", compile_eigen},
#else
    {"cpu", compile_cpu},
#endif
    {"eigen", compile_eigen},
    {"reference", compile_reference},
};

std::vector<std::unique_ptr<const DeviceKind>>& kinds() {
  static std::vector<std::unique_ptr<const DeviceKind>> added;
  return added;
}

// A device of a registered kind, or all devices of that kind.
struct Chosen {
  const DeviceKind* kind = nullptr;
  int ordinal = 0;
};

// Parses "cuda", "cuda:1" or "cuda:all". Null for other names.
Chosen chosen_device(std::string_view name) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string_view which = name.substr(std::min(colon + 1, name.size()));
  for (const auto& kind : kinds()) {
    if (name.substr(0, colon) != kind->name()) continue;
    if (colon == name.size()) return {kind.get(), 0};
    if (which == "all") return {kind.get(), DeviceKind::kAll};
    int ordinal = -1;
    const auto [end, problem] = std::from_chars(which.data(), which.data() + which.size(), ordinal);
    if (problem == std::errc() && end == which.data() + which.size() && ordinal >= 0) return {kind.get(), ordinal};
  }
  return {};
}

// The first kind that has a device. If there is none, sets `missing` to the reasons, for the kinds that are installed.
const DeviceKind* present_kind(std::string& missing) {
  for (const auto& kind : kinds()) {
    const DevicesFound found = kind->find();
    if (found.count > 0) return kind.get();
    if (found.installed && missing.empty()) missing = found.reason;
  }
  return nullptr;
}

std::unique_ptr<Executor> on_processor(const Backend& backend, const Graph& classifier, const ExecutorOptions& options) {
  if (options.precision != Precision::float32) {
    throw Error{ErrorCode::usage, option("precision"),
                "is " + std::string(name_of(options.precision)) + ", but the CPU supports only float32",
                "leave it out, or choose a GPU with " + option("device")};
  }
  return make_chunked_executor(make_host_device(backend.name, backend.compile, classifier, options), options.progress);
}

// An executor on a device of a registered kind if there is one, otherwise on the CPU. If a device cannot be used, a warning gives
// the reason.
std::unique_ptr<Executor> on_best(const Graph& classifier, const ExecutorOptions& options) {
  std::string problem;
  if (const DeviceKind* kind = present_kind(problem)) {
    auto made = kind->make(0, classifier, options);
    if (made) return std::move(made).value();
    problem = made.error().sentence();
  }
  if (!problem.empty() && options.warn) options.warn(problem + "; using the CPU");
  ExecutorOptions here = options;
  here.precision = Precision::float32;
  return on_processor(kBackends[0], classifier, here);
}

std::unique_ptr<Executor> on_device(std::string_view device, const Graph& classifier, const ExecutorOptions& options) {
  for (const Backend& entry : kBackends) {
    if (entry.name == device) return on_processor(entry, classifier, options);
  }
  if (device == "auto") return on_best(classifier, options);
  const Chosen chosen = chosen_device(device);
  if (chosen.kind != nullptr) return chosen.kind->make(chosen.ordinal, classifier, options).value();
  throw Error{ErrorCode::usage, option("device"), "cannot be '" + std::string(device) + "'", "use one of " + known_devices()};
}

}  // namespace

std::vector<std::string_view> backends() {
  std::vector<std::string_view> names;
  for (const Backend& entry : kBackends) names.push_back(entry.name);
  return names;
}

void add_device_kind(std::unique_ptr<const DeviceKind> kind) { kinds().push_back(std::move(kind)); }

const std::vector<std::unique_ptr<const DeviceKind>>& device_kinds() { return kinds(); }

std::vector<DeviceStatus> devices() {
  std::vector<DeviceStatus> all;
  for (const Backend& entry : kBackends) all.push_back({std::string(entry.name), ""});
  for (const auto& kind : kinds()) {
    const std::string name(kind->name());
    const DevicesFound found = kind->find();
    for (int i = 0; i < found.count; ++i) all.push_back({name + ":" + std::to_string(i), ""});
    if (found.count == 0) all.push_back({name, found.reason});
  }
  return all;
}

std::string known_devices() {
  std::vector<std::string> names;
  for (const Backend& entry : kBackends) names.emplace_back(entry.name);
  for (const auto& kind : kinds()) {
    const std::string name(kind->name());
    names.insert(names.end(), {name, name + ":N", name + ":all"});
  }
  names.emplace_back("auto");
  return join(names, " or ");
}

std::optional<DeviceRates> device_rates(std::string_view device, Precision precision) {
  std::string missing;
  const Chosen chosen = device == "auto" ? Chosen{present_kind(missing), 0} : chosen_device(device);
  if (chosen.kind == nullptr) return std::nullopt;
  return chosen.kind->rates(std::max(0, chosen.ordinal), precision).value();
}

std::int64_t parse_memory(const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  const std::size_t unit =
      text.empty() ? std::string::npos : kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
  const auto number = parse_double(unit == std::string::npos ? text : text.substr(0, text.size() - 1));
  const double bytes = number.value_or(0) * std::pow(1024.0, unit == std::string::npos ? 0 : static_cast<double>(unit + 1));
  if (!number || !(bytes >= 1) || bytes > 9e18) {
    throw Error{ErrorCode::usage, option("memory"), "is '" + text + "', which is not an amount of memory", "try 512M or 4G"};
  }
  return static_cast<std::int64_t>(bytes);
}

Precision parse_precision(std::string_view name) {
  for (const Precision precision : {Precision::float32, Precision::tf32, Precision::bf16}) {
    if (name == name_of(precision)) return precision;
  }
  throw Error{ErrorCode::usage, option("precision"), "cannot be '" + std::string(name) + "'", "use float32, tf32 or bf16"};
}

std::unique_ptr<Program> compile_on_processor(const Graph& graph) { return kBackends[0].compile(graph); }

Result<std::unique_ptr<Executor>> make_executor(std::string_view device, const Graph& classifier,
                                                const ExecutorOptions& options) {
  return guarded("the model", [&] {
    std::unique_ptr<Executor> plain = on_device(device, classifier, options);
    const Graph* graph = plain->facts().classifier;
    return composable(std::move(plain), [graph, options, name = std::string(device)](const NoiseMap& map, Progress* progress) {
      ExecutorOptions own = options;
      own.progress = progress;
      return on_device(name, after_map(*graph, map.graph), own);
    });
  });
}

std::unique_ptr<Executor> make_forward_executor(std::string_view name, std::unique_ptr<Program> forward, const Shape& point,
                                                std::int64_t classes, const ExecutorOptions& options,
                                                std::unique_ptr<Program> gradient) {
  return make_chunked_executor(make_forward_device(name, std::move(forward), std::move(gradient), point, classes, options));
}

}  // namespace probust
