// SPDX-License-Identifier: MIT
#include "cli/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "cli/messages.h"
#include "cli/options.h"
#include "probust/base/text.h"

#ifdef PROBUST_CUDA_LOADER
#include "cuda/loader.h"
#endif

namespace probust::cli {
namespace {

// The backends on this machine's processor.
std::vector<std::string> here() {
  const std::vector<std::string_view> names = backends();
  return {names.begin(), names.end()};
}

[[noreturn]] void refuse(const std::string& device) {
  throw Error{ErrorCode::usage, "--device", "'" + device + "' is not a known device", "use one of " + known_devices()};
}

constexpr int kAllOrdinals = -1;

// The N of "cuda:N", 0 for "cuda", kAllOrdinals for "cuda:all"; nothing for other names.
std::optional<int> cuda_ordinal(const std::string& device) {
  if (device == "cuda") return 0;
  if (device == "cuda:all") return kAllOrdinals;
  if (device.rfind("cuda:", 0) != 0) return std::nullopt;
  int ordinal = -1;
  const char *first = device.data() + 5, *last = device.data() + device.size();
  const auto [end, problem] = std::from_chars(first, last, ordinal);
  if (problem != std::errc() || end != last || ordinal < 0) refuse(device);
  return ordinal;
}

#ifdef PROBUST_CUDA_LOADER

int cuda_devices() { return cuda::find_devices().count; }

std::string why_no_cuda() { return cuda::find_devices().reason; }

cuda::Precision precision_of(const Arguments& arguments) {
  for (const auto precision : {cuda::Precision::tf32, cuda::Precision::bf16}) {
    if (arguments.device.precision == cuda::name_of(precision)) return precision;
  }
  return cuda::Precision::float32;
}

DeviceRates cuda_rates(int ordinal, const Arguments& arguments) {
  const cuda::Rates rates = cuda::load_rates(std::max(0, ordinal), precision_of(arguments)).value();
  return {rates.device, rates.product, rates.copy};
}

std::unique_ptr<Executor> make_cuda(const Graph& graph, ExecutorOptions options, int ordinal, const Arguments& arguments) {
  if (arguments.device.memory.empty()) options.memory = std::numeric_limits<std::int64_t>::max();  // most of what is free
  cuda::CudaOptions cuda;
  static_assert(kAllOrdinals == cuda::CudaOptions::kAll);
  cuda.ordinal = ordinal;
  cuda.precision = precision_of(arguments);
  if (!arguments.quiet) cuda.warn = [](const std::string& text) { say("probust: --device cuda: {}\n", text); };
  return cuda::load_cuda_executor(graph, options, cuda).value();
}

#else

int cuda_devices() { return 0; }

std::string why_no_cuda() { return "this build has no CUDA"; }

DeviceRates cuda_rates(int, const Arguments&) { return {}; }

std::unique_ptr<Executor> make_cuda(const Graph&, const ExecutorOptions&, int, const Arguments&) {
  throw Error{ErrorCode::resources, "--device", "this build has no CUDA", "use --device cpu"};
}

#endif

}  // namespace

bool has_cuda() {
#ifdef PROBUST_CUDA_LOADER
  return cuda::module_exists();
#else
  return false;
#endif
}

std::string known_devices() {
  std::vector<std::string> names = here();
  names.insert(names.end(), {"cuda", "cuda:N", "cuda:all", "auto"});
  return join(names, " or ");
}

std::string cuda_status() {
  if (!has_cuda()) return "not compiled in";
  const int count = cuda_devices();
  return count > 0 ? fmt::format("compiled in, {} device{}", count, count == 1 ? "" : "s") : "compiled in; " + why_no_cuda();
}

bool leaves_gpu_idle(const Arguments& arguments) {
  const std::vector<std::string> own = here();
  const bool on_processor = std::find(own.begin(), own.end(), arguments.device.device) != own.end();
  return on_processor && has_cuda() && cuda_devices() > 0;
}

std::vector<std::string> devices() {
  std::vector<std::string> names = here();
  for (int i = 0; i < cuda_devices(); ++i) names.push_back("cuda:" + std::to_string(i));
  return names;
}

std::optional<DeviceRates> device_rates(const Arguments& arguments) {
  const std::string& device = arguments.device.device;
  const auto ordinal = device == "auto" && cuda_devices() > 0 ? std::optional(0) : cuda_ordinal(device);
  if (!ordinal) return std::nullopt;
  return cuda_rates(*ordinal, arguments);
}

std::unique_ptr<Executor> make_device(const Graph& graph, const Arguments& arguments, std::int64_t batch) {
  ExecutorOptions options;
  options.threads = thread_count(arguments.device);
  if (!arguments.device.memory.empty()) {
    options.memory = parse_memory(arguments.device.memory);
    options.weights_included = true;
  }
  options.batch = batch;
  const std::string& device = arguments.device.device;
  if (device == "auto") {
    if (cuda_devices() == 0) {
      if (has_cuda() && !arguments.quiet) say("probust: {}; the processor is taken\n", why_no_cuda());
      return make_executor("cpu", graph, options).value();
    }
    try {
      return make_cuda(graph, options, 0, arguments);
    } catch (const Error& error) {
      if (!arguments.quiet) say("probust: {}; the processor is taken\n", error.message(as_flag));
      return make_executor("cpu", graph, options).value();
    }
  }
  if (const auto ordinal = cuda_ordinal(device)) return make_cuda(graph, options, *ordinal, arguments);
  for (const std::string_view backend : backends()) {
    if (backend == device) return make_executor(backend, graph, options).value();
  }
  refuse(device);
}

}  // namespace probust::cli
