// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probust/base/error.h"
#include "probust/graph/attributes.h"

// What the rest of this room asks of a machine: memory, copies, matrix products, convolutions; launch.h adds kernels. There are
// two machines with this face, and a program is linked with one of them: gpu/ is an NVIDIA GPU, emulated/ is a loop on the
// processor, so that everything above this line is tested where there is no GPU.
namespace probust::cuda {

/// What matrix products and convolutions round their operands to.
enum class Precision : std::uint8_t {
  float32,  ///< nothing: 24 bits
  tf32,     ///< 11 bits, sums in float32
  bf16,     ///< 8 bits, sums in float32; convolutions round what they give as well
};

/// "float32", "tf32" or "bf16".
inline const char* name_of(Precision precision) {
  switch (precision) {
    case Precision::tf32:
      return "tf32";
    case Precision::bf16:
      return "bf16";
    case Precision::float32:
      break;
  }
  return "float32";
}

/// What becomes of each element of a product before it is written.
enum class Activation : std::uint8_t { none, relu };

/// C = activation(A B + bias) for `batch` row-major matrices, each `stride` elements behind the one before it (0: the same one);
/// A is stored [m, k], or [k, m] where it is transposed, B [k, n] or [n, k].
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

/// A convolution of images with channels last, [H, W, C], by a filter [O, kh, kw, C / groups], or its transpose. Two spatial axes
/// and the same padding on either side.
struct Convolution {
  Window window;
  std::int64_t in_channels = 0,
               out_channels = 0;  ///< of the convolution; its transpose reads `out_channels` and writes the others
  bool transposed = false;
  const float* filter = nullptr;
};

/// The end of what a stream of a device was asked for so far.
struct Mark;
using Event = std::shared_ptr<const Mark>;

/// Work that a device has recorded: its addresses are those of that time.
struct Recording;

/// What allocations throw, and whether an Error is one of those.
inline Error out_of_memory(std::string what) {
  return {ErrorCode::resources, "--memory", std::move(what), "give less of the device's memory"};
}
inline bool is_out_of_memory(const Error& error) { return error.code == ErrorCode::resources && error.where == "--memory"; }

/// How many devices there are; 0 where no driver is.
int device_count();

/// Part of some memory of a device, in floats from its beginning.
struct Zone {
  std::int64_t first = 0, count = 0;
};

/// One device and its two streams of work: the main one and, within beside(), the side. Calls return before the work is done, but
/// for copies to and from the host's memory, which wait for their stream.
class Device {
 public:
  /// Throws Error{resources} where there is no such device.
  Device(int ordinal, Precision precision);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Makes it the calling thread's device.
  void use();

  /// What products and convolutions that follow round to.
  void set_precision(Precision precision);

  std::string name() const;
  std::int64_t free_bytes() const;

  /// Throws Error{resources} where there is not as much memory.
  void* allocate(std::int64_t bytes);
  void release(void* memory) noexcept;
  void upload(void* to, const void* from, std::int64_t bytes);
  void download(void* to, const void* from, std::int64_t bytes);
  void copy(void* to, const void* from, std::int64_t bytes);  ///< both on the device
  void clear(void* memory, std::int64_t bytes);
  void wait();  ///< for the stream

  /// Work that follows must leave these zones of a block of memory alone, and the block's earlier ones no longer. The emulated
  /// device looks after each piece of work whether it did; a GPU does nothing: compute-sanitizer is its tool.
  void fence(float* block, std::vector<Zone> zones);

  /// What `work` asks for goes to the side: it runs beside the main stream, in no order with it but that of events. Kernels,
  /// copies and clearing only: products and convolutions have one workspace.
  void beside(const std::function<void()>& work);
  Event mark();
  /// What the stream is asked for from now on comes after an event of the other one.
  void await(const Event& event);

  void multiply(const Product& product);
  /// Whether `convolve` can do it; a kernel of our own does what it cannot.
  bool convolves(const Convolution& convolution) const;
  void convolve(const Convolution& convolution, std::int64_t images, const float* x, float* y);

  /// Records what `work` asks of the device instead of doing it; null where the device cannot. The work must have been done
  /// before as it is, so that all it needs is there, and must keep to the main stream and neither allocate, nor wait, nor copy
  /// from or to the host's memory.
  std::shared_ptr<const Recording> record(const std::function<void()>& work);
  void replay(const Recording& recording);
  /// Changes with what recordings hold of the device itself, its precision and its workspaces: older ones must not be replayed.
  std::uint64_t epoch() const;

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Memory of a device.
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

  /// At least `size` elements, of which none is kept.
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
