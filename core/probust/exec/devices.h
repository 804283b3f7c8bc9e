// SPDX-License-Identifier: MIT
#pragma once

// Where classifiers run: backends on this machine's processor (executor.h), and kinds of devices that are added while the program
// runs, such as GPUs (native/modules).

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probust/exec/executor.h"

namespace probust {

/// How many devices of a kind there are, or why there is none.
struct DevicesFound {
  int count = 0;
  std::string reason{};   ///< what is missing, if there is none
  bool installed = true;  ///< whether what drives them is
};

/// A device's best rates, for comparison.
struct DeviceRates {
  std::string device{};
  double product = 0;  ///< floating-point operations per second in the library's product of large matrices
  double copy = 0;     ///< bytes per second, read and written, in a copy of its memory
};

/// A kind of device that is not this machine's processor. Methods may be called by several threads.
class DeviceKind {
 public:
  static constexpr int kAll = -1;  ///< as an ordinal: all devices together
  virtual ~DeviceKind() = default;

  /// Such as "cuda", which is also the name of its first device. "cuda:1" is the second, and "cuda:all" all of them.
  virtual std::string_view name() const = 0;
  virtual DevicesFound find() const = 0;
  /// Error{resources} if there is no such device or one example does not fit its memory.
  virtual Result<std::unique_ptr<Executor>> make(int ordinal, const Graph& classifier, const ExecutorOptions& options) const = 0;
  virtual Result<DeviceRates> rates(int ordinal, Precision precision) const = 0;
};

/// Adds a kind of device, which is kept. To be called before other threads use devices.
void add_device_kind(std::unique_ptr<const DeviceKind> kind);

const std::vector<std::unique_ptr<const DeviceKind>>& device_kinds();

/// A device that make_executor takes, or a kind that this machine lacks.
struct DeviceStatus {
  std::string name;     ///< "cpu", "cuda:0"; of a kind without devices, its name
  std::string problem;  ///< why it cannot be used; empty if it can
};
std::vector<DeviceStatus> devices();

/// The accepted names of devices, for hints: "cpu or eigen or ... or auto".
std::string known_devices();

/// Measures a device, or the one that "auto" takes; nothing for the processor. Throws Error as make_executor returns it.
std::optional<DeviceRates> device_rates(std::string_view device, Precision precision);

/// Bytes, from "1000000", "512M" or "4G" (units of 1024). Throws Error{usage}.
std::int64_t parse_memory(const std::string& text);

/// "float32", "tf32" or "bf16". Throws Error{usage}.
Precision parse_precision(std::string_view name);

}  // namespace probust
