// SPDX-License-Identifier: MIT
#pragma once

#include <cudnn.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "cuda/device.h"
#include "cuda/gpu/libraries.h"

// Convolutions with cuDNN, in two forms: as single operations, and as graphs of operations, which include the epilogue but are
// not available for all convolutions.
namespace probust::cuda {

inline constexpr std::size_t kConvolutionWorkspace = std::size_t{256} << 20;  // in bytes; algorithms that need more are not used

/// The precision below float32 in which images are stored as this type.
inline Precision lower_precision(Type type) { return type == Type::bf16 ? Precision::bf16 : Precision::tf32; }

/// Everything that defines a convolution, except its addresses.
using ConvolutionKey = std::tuple<Precision, Shape, Shape, Shape, Shape, Shape, std::int64_t, std::int64_t, std::int64_t, bool,
                                  bool, bool, Activation, std::int64_t>;

inline ConvolutionKey key_of(const Convolution& c, std::int64_t images, Precision precision) {
  const Window& w = c.window;
  return {precision,      w.image,  w.kernel,     w.stride,          w.dilation,     w.pad_low,    c.in_channels,
          c.out_channels, w.groups, c.transposed, c.bias != nullptr, c.has_residual, c.activation, images};
}

inline cudnnDataType_t data_type(Type type) { return type == Type::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT; }

/// A convolution of a certain number of images that cuDNN can run.
class PlannedConvolution {
 public:
  PlannedConvolution(std::string algorithm, std::size_t workspace, bool finishes)
      : algorithm_(std::move(algorithm)), workspace_(workspace), finishes_(finishes) {}
  virtual ~PlannedConvolution() = default;
  PlannedConvolution(const PlannedConvolution&) = delete;
  PlannedConvolution& operator=(const PlannedConvolution&) = delete;

  const std::string& algorithm() const { return algorithm_; }
  std::size_t workspace() const { return workspace_; }  ///< in bytes
  bool finishes() const { return finishes_; }           ///< whether cuDNN also computes the epilogue

  virtual void run(cudnnHandle_t handle, const Convolution& c, const void* x, const void* residual, void* y,
                   void* workspace) const = 0;

 private:
  std::string algorithm_;
  std::size_t workspace_;
  bool finishes_;
};

/// Plans a convolution without its epilogue. Throws Error{unsupported} if cuDNN has no deterministic algorithm that has this
/// precision and fits into the workspace.
std::unique_ptr<PlannedConvolution> plan_alone(cudnnHandle_t handle, const Convolution& c, std::int64_t images,
                                               Precision precision);
/// Prints which convolution was planned and how, for a trace.
void say_plan(const Convolution& c, std::int64_t images, const PlannedConvolution& planned);

}  // namespace probust::cuda
