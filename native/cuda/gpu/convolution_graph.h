// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>

#include "cuda/gpu/convolution.h"

// Whether cuDNN is new enough that a compiled kernel works for any number of images.
#define PROBUST_CUDNN_KEEPS_KERNELS (CUDNN_VERSION >= 90500)

namespace probust::cuda {

/// A descriptor of cuDNN's graph interface. Its attributes must be set before it is finished. All functions throw Error.
class Described {
 public:
  explicit Described(cudnnBackendDescriptorType_t type);

  Described& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  template <class T>
  Described& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    return set(name, type, 1, &value);
  }
  Described& set(cudnnBackendAttributeName_t name, const Shape& values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
  }
  Described& set(cudnnBackendAttributeName_t name, std::int64_t value) { return set(name, CUDNN_TYPE_INT64, 1, &value); }
  Described& set(cudnnBackendAttributeName_t name, const Described& value);
  Described finished() &&;

  cudnnBackendDescriptor_t get() const { return raw_.get(); }

 private:
  // The deleter for an opaque pointer.
  struct Destroy {
    using pointer = cudnnBackendDescriptor_t;
    void operator()(cudnnBackendDescriptor_t raw) const;
  };
  std::unique_ptr<void, Destroy> raw_;
};

/// Plans convolutions with their epilogues. The type in which the images are stored determines the precision, tf32 or bf16.
class ConvolutionGraphs {
 public:
  explicit ConvolutionGraphs(cudnnHandle_t handle) : handle_(handle) {}

  /// Images must be aligned to kGraphAlignment bytes. Throws Error{unsupported} if cuDNN cannot compile the convolution.
  std::unique_ptr<PlannedConvolution> plan(const Convolution& c, std::int64_t images);

 private:
  std::unique_ptr<PlannedConvolution> plan_with(const Described& engine, std::int64_t index, const Described& graph,
                                                const ConvolutionKey& key);

  cudnnHandle_t handle_;
  std::map<ConvolutionKey, Described> kernels_;  // compiled kernels, which work for any number of images
};

inline constexpr std::int64_t kGraphAlignment = 16;

}  // namespace probust::cuda
