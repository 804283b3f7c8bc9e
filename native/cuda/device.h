// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/numbers.h"
#include "probust/base/error.h"
#include "probust/exec/precision.h"
#include "probust/graph/attributes.h"

// The interface to devices in this folder: memory, copies, matrix products and convolutions; launch.h adds kernels. There are
// two implementations, and a program is linked with one of them: gpu/ is for NVIDIA GPUs; emulated/ runs loops on the CPU, so
// that all code that uses this interface can be tested without a GPU.
namespace probust::cuda {

using probust::name_of;
using probust::Precision;

/// The type in which convolutions store images.
inline Type image_type(Precision precision) { return precision == Precision::bf16 ? Type::bf16 : Type::float32; }

/// The function that is applied to each element of a product or convolution before it is stored.
enum class Activation : std::uint8_t { none, relu };

/// C = activation(A B + bias) for `batch` row-major matrices, `stride` elements apart (0: the same matrix for all). A is stored
/// [m, k], or [k, m] if transposed; B is stored [k, n], or [n, k] if transposed.
struct Product {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::int64_t stride_a = 0;
  const float* b = nullptr;
  std::int64_t stride_b = 0;
  float* c = nullptr;
  std::int64_t stride_c = 0;
  std::int64_t batch = 1;
  const float* bias = nullptr;  ///< [n], added to every row of every matrix; null for none
  Activation activation = Activation::none;
};

/// y = activation(x * filter + bias + residual) for channels-last images x [H, W, C] and a filter [O, kh, kw, C / groups], or
/// the transpose of the convolution. There are two spatial axes, with the same padding on both sides.
struct Convolution {
  Window window;
  std::int64_t in_channels = 0,
               out_channels = 0;  ///< channels of the convolution; its transpose reads out_channels and writes in_channels
  bool transposed = false;
  Type type = Type::float32;  ///< type of images and filter: image_type of the device's precision
  const void* filter = nullptr;
  const float* bias = nullptr;  ///< [O]; null if there is none, as for a transpose
  bool has_residual = false;    ///< whether another value of the result's size is added; false for a transpose
  Activation activation = Activation::none;

  bool has_epilogue() const { return bias != nullptr || has_residual || activation != Activation::none; }
  /// The number of elements of an image that is read, of one that is written, and of the filter.
  std::int64_t elements_read() const { return transposed ? outputs() : inputs(); }
  std::int64_t elements_written() const { return transposed ? inputs() : outputs(); }
  std::int64_t elements_of_filter() const { return out_channels * element_count(window.kernel) * in_channels / window.groups; }

 private:
  std::int64_t inputs() const { return element_count(window.image) * in_channels; }
  std::int64_t outputs() const { return element_count(window.output()) * out_channels; }
};

/// The convolution without its bias, residual and activation.
inline Convolution without_epilogue(Convolution convolution) {
  convolution.bias = nullptr;
  convolution.has_residual = false;
  convolution.activation = Activation::none;
  return convolution;
}

/// A position in the sequence of work that is submitted to a stream.
struct Mark;
using Event = std::shared_ptr<const Mark>;

/// Work that a device has recorded, with the addresses that it used.
struct Recording;

/// The result of Device::record: the recording or, if there is none, the reason.
struct Recorded {
  std::shared_ptr<const Recording> recording;
  std::string refusal;
};

/// The number of devices and, if there are none, the driver's message.
struct DeviceCount {
  int count = 0;
  std::string reason;
};

/// The Error that allocations throw if there is too little memory, and a test for it.
inline Error out_of_memory(const std::string& what) {
  return {ErrorCode::resources, option("memory"), what, "use less of the device's memory"};
}
inline bool is_out_of_memory(const Error& error) { return error.code == ErrorCode::resources && error.where == option("memory"); }

DeviceCount count_devices();

/// A range of a block of device memory, in floats from its beginning.
struct Zone {
  std::int64_t first = 0, count = 0;
};

/// A device and its two streams of work: the main stream and, within on_side_stream(), the side stream. Calls return before
/// their work is done, except copies to and from host memory, which wait for their stream.
class Device {
 public:
  /// Throws Error{resources} if there is no such device.
  Device(int ordinal, Precision precision);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Makes this the calling thread's device.
  void use();

  /// Sets the rounding of subsequent products and convolutions.
  void set_precision(Precision precision);
  Precision precision() const;

  std::string name() const;
  std::int64_t free_bytes() const;
  /// A number of floating-point operations that takes the device much longer than launching the kernels of a network.
  double busy_flops() const;

  /// Throws Error{resources} if there is not enough memory.
  void* allocate(std::int64_t bytes);
  void release(void* memory) noexcept;
  void upload(void* to, const void* from, std::int64_t bytes);
  void download(void* to, const void* from, std::int64_t bytes);
  void copy(void* to, const void* from, std::int64_t bytes);  ///< from device memory to device memory
  void clear(void* memory, std::int64_t bytes);
  void wait();  ///< waits until the current stream has done its work

  /// Declares that subsequent work must not write to these zones of a block of memory. They replace earlier zones of the block.
  /// The emulated device checks them after each piece of work. On a GPU, this does nothing, because compute-sanitizer makes
  /// such checks.
  void fence(float* block, std::vector<Zone> zones);

  /// Submits `work` to the side stream, which runs concurrently with the main stream; only events order the two. The work must
  /// not contain products or convolutions, because all of them use the same workspace.
  void on_side_stream(const std::function<void()>& work);
  Event mark();  ///< an event after all work that the current stream has received so far
  /// Makes work that is submitted to the current stream from now on wait for an event of the other stream.
  void await(const Event& event);

  void multiply(const Product& product);
  /// The reason why `convolve` does not support a convolution, which then needs a kernel of our own; empty if it does.
  std::string refusal(const Convolution& convolution) const;
  /// The reason why `convolve` computes the epilogue of a convolution in a kernel of our own; empty if it fuses the epilogue,
  /// or if fusion is impossible in the current precision.
  std::string refusal_to_finish(const Convolution& convolution);
  /// Computes a convolution of `images` images. `residual` has the size of the result, and is used only if the convolution has
  /// a residual.
  void convolve(const Convolution& convolution, std::int64_t images, const void* x, const void* residual, void* y);

  /// Records the work that `work` submits instead of doing it; returns no recording if the device cannot record it. The same
  /// work must have been done directly just before, so that everything it needs is already allocated. It must use only the main
  /// stream, and must not allocate, wait, or copy from or to host memory.
  Recorded record(const std::function<void()>& work);
  void replay(const Recording& recording);
  /// The seconds that `work` takes on the main stream, without the time before it starts. Must not be called while recording.
  double timed(const std::function<void()>& work);
  /// The library's name for the algorithm of the last product or convolution.
  std::string algorithm() const;
  /// The number of kernels (launch.h) started so far.
  std::int64_t launches() const;
  /// A number that changes whenever state on which recordings depend (precision, workspaces) changes. Recordings of an earlier
  /// epoch must not be replayed.
  std::uint64_t epoch() const;

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

inline constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));
inline constexpr auto kDoubleBytes = static_cast<std::int64_t>(sizeof(double));

/// An array in the memory of a device.
template <class T>
class Array {
 public:
  Array() = default;
  Array(Device& device, std::int64_t size) : device_(&device), size_(size), data_(static_cast<T*>(device.allocate(bytes()))) {}
  Array(Device& device, std::span<const T> values) : Array(device, static_cast<std::int64_t>(values.size())) {
    device.upload(data_, values.data(), bytes());
  }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() {
    if (data_ != nullptr) device_->release(data_);
  }

  T* data() const { return data_; }
  std::int64_t size() const { return size_; }

  /// Grows the array to at least `size` elements, and returns its address. An array that grows loses its contents.
  T* grown(Device& device, std::int64_t size) {
    if (size > size_) {
      *this = Array();
      *this = Array(device, size);
    }
    return data_;
  }

 private:
  std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(sizeof(T)); }
  void swap(Array& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
  }

  Device* device_ = nullptr;
  std::int64_t size_ = 0;
  T* data_ = nullptr;
};

}  // namespace probust::cuda
