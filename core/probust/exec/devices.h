// SPDX-License-Identifier: MIT
#pragma once

// The devices that classifiers run on: backends for the CPU (executor.h), and kinds of devices that are added at run time, such
// as GPUs (native/modules).

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probust/exec/executor.h"

namespace probust {

/// The number of devices of a kind or, if there are none, the reason.
struct DevicesFound {
  int count = 0;
  std::string reason{};   ///< what is missing, if there are no devices
  bool installed = true;  ///< whether the driver is installed
};

/// The highest rates measured on a device, for comparison.
struct DeviceRates {
  std::string device{};
  double product = 0;  ///< floating-point operations per second in the library's product of large matrices
  double copy = 0;     ///< bytes per second, read and written, in a copy of its memory
};

/// A kind of device other than the CPU. Several threads may call its methods.
class DeviceKind {
 public:
  static constexpr int kAll = -1;  ///< as an ordinal: all devices together
  virtual ~DeviceKind() = default;

  /// A name such as "cuda", which is also the name of the first device. "cuda:1" is the second, and "cuda:all" stands for all.
  virtual std::string_view name() const = 0;
  virtual DevicesFound find() const = 0;
  /// Error{resources} if there is no such device or one example does not fit into its memory.
  virtual Result<std::unique_ptr<Executor>> make(int ordinal, const Graph& classifier, const ExecutorOptions& options) const = 0;
  virtual Result<DeviceRates> rates(int ordinal, Precision precision) const = 0;
};

/// Adds a kind of device, which then exists until the program ends. Call this before other threads use devices.
void add_device_kind(std::unique_ptr<const DeviceKind> kind);

const std::vector<std::unique_ptr<const DeviceKind>>& device_kinds();

/// A device that make_executor accepts, or a kind without devices on this machine.
struct DeviceStatus {
  std::string name;     ///< "cpu", "cuda:0"; the name of the kind if it has no devices
  std::string problem;  ///< why the device cannot be used; empty if it can
};
std::vector<DeviceStatus> devices();

/// The accepted names of devices, for hints: "cpu or eigen or ... or auto".
std::string known_devices();

/// Measures a device, or the one that "auto" selects; empty for the CPU. Throws the errors that make_executor returns.
std::optional<DeviceRates> device_rates(std::string_view device, Precision precision);

/// Parses a number of bytes: "1000000", "512M" or "4G" (units of 1024). Throws Error{usage}.
std::int64_t parse_memory(const std::string& text);

/// Parses "float32", "tf32" or "bf16". Throws Error{usage}.
Precision parse_precision(std::string_view name);

}  // namespace probust
