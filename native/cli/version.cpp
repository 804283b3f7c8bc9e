// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <Eigen/Core>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/json_text.h"

namespace probust::cli {

int run_version(const Arguments& arguments) {
  nlohmann::ordered_json info;
  info["version"] = PROBUST_VERSION;
  info["compiler"] = std::string("C++ ") + __VERSION__;
  info["build_type"] = PROBUST_BUILD_TYPE;
  info["march"] = PROBUST_BUILD_ARCH;
  info["simd"] = Eigen::SimdInstructionSetsInUse();
  info["cores"] = std::thread::hardware_concurrency();
  info["cuda"] = has_cuda();
  info["devices"] = devices();
  if (arguments.json) {
    fmt::print("{}\n", json_text(info, 2));
    return 0;
  }
  fmt::print("probust {}\n", PROBUST_VERSION);
  fmt::print("  build     {}, {}, -march={}\n", std::string(info["compiler"]), PROBUST_BUILD_TYPE, PROBUST_BUILD_ARCH);
  fmt::print("  vectors   {}\n", Eigen::SimdInstructionSetsInUse());
  fmt::print("  cuda      {}\n", cuda_status());
  fmt::print("  devices  ");
  for (const std::string& device : devices()) fmt::print(" {}", device);
  fmt::print(" ({} cores)\n", std::thread::hardware_concurrency());
  return 0;
}

}  // namespace probust::cli
