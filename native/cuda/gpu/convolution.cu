// SPDX-License-Identifier: MIT
// Plans and runs single convolutions, without their epilogues, with cuDNN.
#include <cstdio>
#include <utility>
#include <vector>

#include "cuda/gpu/convolution.h"

namespace probust::cuda {
namespace {

// The largest number of images that does not keep a device busy.
constexpr std::int64_t kFewImages = 64;

using Images = Owned<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using Filter = Owned<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
using ConvolutionDescription = Owned<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;

Images images_of(std::int64_t count, std::int64_t channels, const Shape& extents, Type type) {
  cudnnTensorDescriptor_t raw = nullptr;
  check(cudnnCreateTensorDescriptor(&raw), "cuDNN images");
  Images images(raw);
  check(cudnnSetTensor4dDescriptor(raw, CUDNN_TENSOR_NHWC, data_type(type), static_cast<int>(count), static_cast<int>(channels),
                                   static_cast<int>(extents[0]), static_cast<int>(extents[1])),
        "cuDNN images");
  return images;
}

Filter filter_of(const Convolution& c) {
  cudnnFilterDescriptor_t raw = nullptr;
  check(cudnnCreateFilterDescriptor(&raw), "cuDNN filter");
  Filter filter(raw);
  check(cudnnSetFilter4dDescriptor(raw, data_type(c.type), CUDNN_TENSOR_NHWC, static_cast<int>(c.out_channels),
                                   static_cast<int>(c.in_channels / c.window.groups), static_cast<int>(c.window.kernel[0]),
                                   static_cast<int>(c.window.kernel[1])),
        "cuDNN filter");
  return filter;
}

// Whether and how tensor cores are used. By default, cuDNN lets them convert float32 to tf32; other types need permission.
cudnnMathType_t math_of(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return CUDNN_TENSOR_OP_MATH;
    case Precision::tf32:
      return CUDNN_DEFAULT_MATH;
    case Precision::float32:
      break;
  }
  return CUDNN_FMA_MATH;
}

ConvolutionDescription description_of(const Window& w, cudnnMathType_t math) {
  cudnnConvolutionDescriptor_t raw = nullptr;
  check(cudnnCreateConvolutionDescriptor(&raw), "cuDNN convolution");
  ConvolutionDescription description(raw);
  check(cudnnSetConvolution2dDescriptor(raw, static_cast<int>(w.pad_low[0]), static_cast<int>(w.pad_low[1]),
                                        static_cast<int>(w.stride[0]), static_cast<int>(w.stride[1]),
                                        static_cast<int>(w.dilation[0]), static_cast<int>(w.dilation[1]), CUDNN_CROSS_CORRELATION,
                                        CUDNN_DATA_FLOAT),
        "cuDNN convolution");
  check(cudnnSetConvolutionMathType(raw, math), "cuDNN precision");
  check(cudnnSetConvolutionGroupCount(raw, static_cast<int>(w.groups)), "cuDNN groups");
  return description;
}

Error nothing_fits(const std::string& problem) {
  return {ErrorCode::unsupported, "the device", "has no algorithm for a convolution: " + problem,
          "use " + option("device") + " cpu"};
}

// Chooses the fastest algorithm in cuDNN's ranking that is deterministic and keeps the precision. In float32, throws if that
// algorithm does not fit into the workspace, so that the caller splits the images: the next algorithm is three times slower
// (algorithm 1 copies channels-last images into rows, algorithm 0 does not). If there are few images, chooses the first
// algorithm that fits instead.
template <class Performance>
const Performance& chosen(const std::vector<Performance>& found, cudnnMathType_t math, std::int64_t images) {
  for (const Performance& one : found) {
    const bool precise = math != CUDNN_FMA_MATH || one.mathType == CUDNN_FMA_MATH;
    if (one.status != CUDNN_STATUS_SUCCESS || !precise || one.determinism != CUDNN_DETERMINISTIC) continue;
    if (one.memory <= kConvolutionWorkspace) return one;
    if (math == CUDNN_FMA_MATH && images > kFewImages)
      throw nothing_fits("cuDNN's fastest algorithm needs " + std::to_string(one.memory >> 20) + "M");
  }
  throw nothing_fits("none of cuDNN's " + std::to_string(found.size()) +
                     " algorithms is deterministic, keeps the precision and needs at most " +
                     std::to_string(kConvolutionWorkspace >> 20) + "M");
}

// cuDNN's descriptors for a convolution, its operands and its result.
struct Descriptions {
  Images image, output;
  Filter filter;
  ConvolutionDescription convolution;
};

template <class Performance>
std::string name_of(const Performance& best, cudnnMathType_t asked) {
  return "algorithm " + std::to_string(best.algo) + ", math type " + std::to_string(best.mathType) + " (requested " +
         std::to_string(asked) + ")";
}

class Forward final : public PlannedConvolution {
 public:
  Forward(Descriptions of, const cudnnConvolutionFwdAlgoPerf_t& best, cudnnMathType_t asked)
      : PlannedConvolution(name_of(best, asked), best.memory, false), of_(std::move(of)), algorithm_(best.algo) {}

  void run(cudnnHandle_t handle, const Convolution& c, const void* x, const void*, void* y, void* workspace) const override {
    const float one = 1, zero = 0;
    check(cudnnConvolutionForward(handle, &one, of_.image.get(), x, of_.filter.get(), c.filter, of_.convolution.get(), algorithm_,
                                  workspace, this->workspace(), &zero, of_.output.get(), y),
          "convolution");
  }

 private:
  Descriptions of_;
  cudnnConvolutionFwdAlgo_t algorithm_;
};

class Backward final : public PlannedConvolution {
 public:
  Backward(Descriptions of, const cudnnConvolutionBwdDataAlgoPerf_t& best, cudnnMathType_t asked)
      : PlannedConvolution(name_of(best, asked), best.memory, false), of_(std::move(of)), algorithm_(best.algo) {}

  void run(cudnnHandle_t handle, const Convolution& c, const void* x, const void*, void* y, void* workspace) const override {
    const float one = 1, zero = 0;
    check(cudnnConvolutionBackwardData(handle, &one, of_.filter.get(), c.filter, of_.output.get(), x, of_.convolution.get(),
                                       algorithm_, workspace, this->workspace(), &zero, of_.image.get(), y),
          "transposed convolution");
  }

 private:
  Descriptions of_;
  cudnnConvolutionBwdDataAlgo_t algorithm_;
};

}  // namespace

std::unique_ptr<PlannedConvolution> plan_alone(cudnnHandle_t handle, const Convolution& c, std::int64_t images,
                                               Precision precision) {
  const cudnnMathType_t math = math_of(precision);
  Descriptions of{images_of(images, c.in_channels, c.window.image, c.type),
                  images_of(images, c.out_channels, c.window.output(), c.type), filter_of(c), description_of(c.window, math)};
  int found = 0;
  if (c.transposed) {
    std::vector<cudnnConvolutionBwdDataAlgoPerf_t> all(CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT);
    check(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, of.filter.get(), of.output.get(), of.convolution.get(),
                                                      of.image.get(), static_cast<int>(all.size()), &found, all.data()),
          "cuDNN heuristic");
    all.resize(static_cast<std::size_t>(found));
    const auto& best = chosen(all, math, images);
    check(cudnnSetConvolutionMathType(of.convolution.get(), best.mathType),
          "cuDNN precision");  // the precision that the algorithm requires
    return std::make_unique<Backward>(std::move(of), best, math);
  }
  std::vector<cudnnConvolutionFwdAlgoPerf_t> all(CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
  check(cudnnGetConvolutionForwardAlgorithm_v7(handle, of.image.get(), of.filter.get(), of.convolution.get(), of.output.get(),
                                               static_cast<int>(all.size()), &found, all.data()),
        "cuDNN heuristic");
  all.resize(static_cast<std::size_t>(found));
  const auto& best = chosen(all, math, images);
  check(cudnnSetConvolutionMathType(of.convolution.get(), best.mathType), "cuDNN precision");
  return std::make_unique<Forward>(std::move(of), best, math);
}

void say_plan(const Convolution& c, std::int64_t images, const PlannedConvolution& planned) {
  const Window& w = c.window;
  const auto number = [](std::int64_t one) { return static_cast<long long>(one); };
  std::fprintf(
      stderr,
      "convolution%s, %lld to %lld channels, %lld x %lld, kernel %lld x %lld, stride %lld x %lld, %lld groups, %lld images: "
      "%s, workspace %.1f MiB\n",
      c.transposed ? " transposed" : "", number(c.transposed ? c.out_channels : c.in_channels),
      number(c.transposed ? c.in_channels : c.out_channels), number(w.image[0]), number(w.image[1]), number(w.kernel[0]),
      number(w.kernel[1]), number(w.stride[0]), number(w.stride[1]), number(w.groups), number(images),
      planned.algorithm().c_str(), static_cast<double>(planned.workspace()) / (1 << 20));
}

}  // namespace probust::cuda
