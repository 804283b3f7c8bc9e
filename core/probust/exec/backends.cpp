// SPDX-License-Identifier: MIT
#include "probust/exec/coarse.h"
#include "probust/exec/host_lanes.h"

namespace probust {
namespace {

struct Backend {
  std::string_view name;
  Compile compile;
};

// The only list of backends on this machine's processor. In browsers Eigen's products are all there is: the other algorithms
// would make the download larger.
constexpr Backend kBackends[] = {
#ifdef __EMSCRIPTEN__
    {"cpu", compile_eigen},
#else
    {"cpu", compile_cpu},
#endif
    {"eigen", compile_eigen},
    {"reference", compile_reference},
};

}  // namespace

std::vector<std::string_view> backends() {
  std::vector<std::string_view> names;
  for (const Backend& entry : kBackends) names.push_back(entry.name);
  return names;
}

Result<std::unique_ptr<Executor>> make_executor(std::string_view backend, const Graph& classifier,
                                                const ExecutorOptions& options) {
  return guarded("model", [&]() -> std::unique_ptr<Executor> {
    for (const Backend& entry : kBackends) {
      if (entry.name == backend) return make_coarse_executor(make_host_lanes(entry.name, entry.compile, classifier, options));
    }
    throw Error{ErrorCode::usage, option("device"), "'" + std::string(backend) + "' is not a known device",
                "use " + std::string(kBackends[0].name)};
  });
}

std::unique_ptr<Executor> make_forward_executor(std::string_view name, std::unique_ptr<Program> forward, Shape point,
                                                std::int64_t classes, const ExecutorOptions& options,
                                                std::unique_ptr<Program> gradient) {
  return make_coarse_executor(
      make_forward_lanes(name, std::move(forward), std::move(gradient), std::move(point), classes, options));
}

}  // namespace probust
