// SPDX-License-Identifier: MIT
#include "cli/devices.h"

#include <algorithm>

#include "cli/messages.h"
#include "cli/options.h"

namespace probust::cli {

bool leaves_device_idle(const Arguments& arguments) {
  const std::vector<std::string_view> own = backends();
  if (std::find(own.begin(), own.end(), arguments.device.device) == own.end()) return false;
  const auto& kinds = device_kinds();
  return std::any_of(kinds.begin(), kinds.end(), [](const auto& kind) { return kind->find().count > 0; });
}

ExecutorOptions execution_options(const Arguments& arguments) {
  ExecutorOptions options;
  options.threads = thread_count(arguments.device);
  if (!arguments.device.memory.empty()) {
    options.memory = parse_memory(arguments.device.memory);
    options.weights_included = true;
  }
  options.precision = parse_precision(arguments.device.precision);
  options.warn = [quiet = arguments.quiet](const std::string& text) {
    if (!quiet) say("probust: {}\n", spelled(text, as_flag));
  };
  return options;
}

}  // namespace probust::cli
