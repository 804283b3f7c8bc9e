// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

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

/// C = A B for `batch` row-major matrices, each `stride` elements behind the one before it (0: the same one); A is stored [m, k],
/// or [k, m] where it is transposed, B [k, n] or [n, k].
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

/// How many devices there are; 0 where no driver is.
int device_count();

/// One device and its stream. Calls return before the work is done, but for copies to and from the host's memory.
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
  void wait();

  void multiply(const Product& product);
  /// Whether `convolve` can do it; a kernel of our own does what it cannot.
  bool convolves(const Convolution& convolution) const;
  void convolve(const Convolution& convolution, std::int64_t images, const float* x, float* y);

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
