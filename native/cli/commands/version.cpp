// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <thread>

#include "cli/command_line.h"
#include "cli/options.h"
#include "datasets/json.h"
#include "probust/base/linear_algebra.h"
#include "probust/exec/devices.h"

namespace probust::cli {
namespace {

int run_version(const Arguments& arguments) {
  Document info = Document::object();
  info["version"] = PROBUST_VERSION;
  info["compiler"] = "C++ " __VERSION__;
  info["build_type"] = PROBUST_BUILD_TYPE;
  info["march"] = PROBUST_BUILD_ARCH;
  info["simd"] = Eigen::SimdInstructionSetsInUse();
  info["cores"] = std::thread::hardware_concurrency();
  const std::vector<DeviceStatus> all = devices();
  Document::List found;
  for (const DeviceStatus& device : all) {
    if (device.problem.empty()) found.push_back(device.name);
  }
  info["devices"] = std::move(found);
  for (const auto& kind : device_kinds()) info[std::string(kind->name())] = kind->find().installed;
  if (arguments.json) {
    fmt::print("{}\n", datasets::json_text(info, 2));
    return 0;
  }
  fmt::print("probust {}\n", PROBUST_VERSION);
  fmt::print("  build     {}, {}, -march={}\n", "C++ " __VERSION__, PROBUST_BUILD_TYPE, PROBUST_BUILD_ARCH);
  fmt::print("  vectors   {}\n", Eigen::SimdInstructionSetsInUse());
  fmt::print("  devices  ");
  for (const DeviceStatus& device : all) {
    if (device.problem.empty()) fmt::print(" {}", device.name);
  }
  fmt::print(" ({} cores)\n", std::thread::hardware_concurrency());
  for (const DeviceStatus& device : all) {
    if (!device.problem.empty()) fmt::print("  {:<9} {}\n", device.name, device.problem);
  }
  return 0;
}

}  // namespace

void describe_version(CommandLine& line) {
  auto [command, own] = line.add<Arguments>("version", "version, build options, devices", run_version);
  command.add_flag("--json", own.json, "print one JSON object");
}

}  // namespace probust::cli
