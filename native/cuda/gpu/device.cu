// SPDX-License-Identifier: MIT
// An NVIDIA GPU: memory and streams by the CUDA runtime, products by cuBLASLt, convolutions by cuDNN.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "cuda/launch.h"
#include "probust/base/error.h"

namespace probust::cuda {
namespace {

constexpr std::size_t kProductWorkspace = std::size_t{32} << 20;       // bytes; what cuBLAS asks for on Hopper
constexpr std::size_t kConvolutionWorkspace = std::size_t{256} << 20;  // bytes; algorithms that want more are passed over

constexpr std::int64_t kNarrowElements = std::int64_t{1} << 27;      // of images in bf16 at once: 256 MiB
constexpr int kOldest = 8;                                           // compute capability, for which kernels are compiled
constexpr std::int64_t kMostProducts = 32768;                        // in one call: cuBLASLt counts to 65535
constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - 1;  // of one cuDNN tensor

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // or the next launch would be told of it again
  const bool memory = status == cudaErrorMemoryAllocation;
  throw Error{ErrorCode::resources, "device", std::string(what) + ": " + cudaGetErrorString(status),
              memory ? "give less with --memory" : ""};
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error{ErrorCode::resources, "device", std::string(what) + ": " + cublasLtGetStatusString(status), ""};
}

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw Error{ErrorCode::resources, "device", std::string(what) + ": " + cudnnGetErrorString(status), ""};
}

// Library handles that are freed with their owner.
template <class Handle, auto destroy>
struct Free {
  void operator()(Handle handle) const { destroy(handle); }
};
template <class Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Free<Handle, destroy>>;

using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using ProductDescription = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using Images = Owned<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using Filter = Owned<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
using ConvolutionDescription = Owned<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;

// A column-major matrix [rows, columns], `batch` of them.
Layout layout_of(std::int64_t rows, std::int64_t columns, std::int64_t stride, std::int64_t batch) {
  cublasLtMatrixLayout_t raw = nullptr;
  check(cublasLtMatrixLayoutCreate(&raw, CUDA_R_32F, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows),
        "cuBLASLt layout");
  Layout layout(raw);
  const auto count = static_cast<std::int32_t>(batch);
  check(cublasLtMatrixLayoutSetAttribute(raw, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)), "cuBLASLt batch");
  check(cublasLtMatrixLayoutSetAttribute(raw, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)),
        "cuBLASLt stride");
  return layout;
}

// Everything about a product but its addresses.
using ProductKey = std::tuple<Precision, std::array<std::uint32_t, 3>, bool, bool, std::int64_t, std::int64_t, std::int64_t,
                              std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

cublasComputeType_t compute_type(Precision precision) {
  switch (precision) {
    case Precision::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Precision::bf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    case Precision::float32:
      break;
  }
  return CUBLAS_COMPUTE_32F;
}

struct ToBf16 {
  const float* from;
  __nv_bfloat16* to;
  __device__ void operator()(std::int64_t i) const { to[i] = __float2bfloat16_rn(from[i]); }
};

struct FromBf16 {
  const __nv_bfloat16* from;
  float* to;
  __device__ void operator()(std::int64_t i) const { to[i] = __bfloat162float(from[i]); }
};

// Bytes that the addresses are multiples of, as far as cuBLASLt cares.
std::array<std::uint32_t, 3> alignment_of(const Product& p) {
  const auto one = [](const float* address) {
    std::uint32_t bytes = 256;
    while (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) bytes /= 2;
    return bytes;
  };
  return {one(p.a), one(p.b), one(p.c)};
}

struct PlannedProduct {
  ProductDescription description;
  Layout a, b, c;
  cublasLtMatmulAlgo_t algorithm;
};

// Everything about a convolution but its addresses.
using ConvolutionKey =
    std::tuple<Precision, Shape, Shape, Shape, Shape, Shape, std::int64_t, std::int64_t, std::int64_t, bool, std::int64_t>;

struct PlannedConvolution {
  Images image, output;
  Filter filter;
  ConvolutionDescription description;
  cudnnConvolutionFwdAlgo_t forward{};
  cudnnConvolutionBwdDataAlgo_t backward{};
  std::size_t workspace = 0;
};

Images images_of(std::int64_t count, std::int64_t channels, const Shape& extents, cudnnDataType_t type) {
  cudnnTensorDescriptor_t raw = nullptr;
  check(cudnnCreateTensorDescriptor(&raw), "cuDNN images");
  Images images(raw);
  check(cudnnSetTensor4dDescriptor(raw, CUDNN_TENSOR_NHWC, type, static_cast<int>(count), static_cast<int>(channels),
                                   static_cast<int>(extents[0]), static_cast<int>(extents[1])),
        "cuDNN images");
  return images;
}

// The fastest by cuDNN's own reckoning that is deterministic, keeps the precision and fits the workspace.
template <class Performance>
const Performance& chosen(const std::vector<Performance>& found, cudnnMathType_t math) {
  for (const Performance& one : found) {
    const bool fits = one.status == CUDNN_STATUS_SUCCESS && one.memory <= kConvolutionWorkspace;
    const bool precise = math != CUDNN_FMA_MATH || one.mathType == CUDNN_FMA_MATH;
    if (fits && precise && one.determinism == CUDNN_DETERMINISTIC) return one;
  }
  throw Error{ErrorCode::unsupported, "device", "cuDNN has no algorithm for a convolution of this model", "use --device cpu"};
}

}  // namespace

struct Device::State {
  int ordinal = 0;
  Precision precision = Precision::float32;
  cudaStream_t stream = nullptr;
  cublasLtHandle_t products = nullptr;
  cudnnHandle_t convolutions = nullptr;
  void* workspace = nullptr;
  Array<__nv_bfloat16> narrow_x, narrow_y, narrow_filter;  // what convolutions in bf16 read and write
  std::map<ProductKey, PlannedProduct> planned_products;
  std::map<ConvolutionKey, PlannedConvolution> planned_convolutions;

  ~State() {
    planned_products.clear();
    planned_convolutions.clear();
    if (workspace != nullptr) cudaFree(workspace);
    if (convolutions != nullptr) cudnnDestroy(convolutions);
    if (products != nullptr) cublasLtDestroy(products);
    if (stream != nullptr) cudaStreamDestroy(stream);
  }

  void multiply(const Product& p) {
    const ProductKey key{precision, alignment_of(p), p.transpose_a, p.transpose_b, p.m,    p.n,
                         p.k,       p.stride_a,      p.stride_b,    p.stride_c,    p.batch};
    auto found = planned_products.find(key);
    if (found == planned_products.end()) found = planned_products.emplace(key, plan(p)).first;
    const PlannedProduct& planned = found->second;
    const float one = 1, zero = 0;
    check(cublasLtMatmul(products, planned.description.get(), &one, p.b, planned.b.get(), p.a, planned.a.get(), &zero, p.c,
                         planned.c.get(), p.c, planned.c.get(), &planned.algorithm, workspace, kProductWorkspace, stream),
          "matrix product");
  }

  PlannedProduct plan(const Product& p) const {
    cublasLtMatmulDesc_t raw = nullptr;
    check(cublasLtMatmulDescCreate(&raw, compute_type(precision), CUDA_R_32F), "cuBLASLt product");
    PlannedProduct planned{ProductDescription(raw), nullptr, nullptr, nullptr, {}};
    // Row-major C = A B is column-major C' = B' A', and a row-major matrix is a column-major transposed one.
    const cublasOperation_t first = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, second = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof(first)), "cuBLASLt product");
    check(cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof(second)), "cuBLASLt product");
    planned.b = p.transpose_b ? layout_of(p.k, p.n, p.stride_b, p.batch) : layout_of(p.n, p.k, p.stride_b, p.batch);
    planned.a = p.transpose_a ? layout_of(p.m, p.k, p.stride_a, p.batch) : layout_of(p.k, p.m, p.stride_a, p.batch);
    planned.c = layout_of(p.n, p.m, p.stride_c, p.batch);
    cublasLtMatmulPreference_t raw_preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&raw_preference), "cuBLASLt preference");
    const Preference preference(raw_preference);
    check(cublasLtMatmulPreferenceSetAttribute(raw_preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kProductWorkspace,
                                               sizeof(kProductWorkspace)),
          "cuBLASLt preference");
    const auto [of_a, of_b, of_c] = alignment_of(p);
    const std::pair<cublasLtMatmulPreferenceAttributes_t, std::uint32_t> alignments[] = {
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, of_b},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, of_a},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, of_c},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, of_c}};
    for (const auto& [attribute, bytes] : alignments)
      check(cublasLtMatmulPreferenceSetAttribute(raw_preference, attribute, &bytes, sizeof(bytes)), "cuBLASLt alignment");
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    check(cublasLtMatmulAlgoGetHeuristic(products, raw, planned.b.get(), planned.a.get(), planned.c.get(), planned.c.get(),
                                         raw_preference, 1, &best, &found),
          "cuBLASLt heuristic");
    if (found == 0) throw Error{ErrorCode::unsupported, "device", "cuBLASLt has no algorithm for a product", "use --device cpu"};
    planned.algorithm = best.algo;
    return planned;
  }

  // In halves where cuDNN has no algorithm for so many images within the workspace. T: what the images are stored as.
  template <class T>
  void convolve(const Convolution& c, std::int64_t images, const T* x, const T* weights, T* y, std::int64_t size_x,
                std::int64_t size_y) {
    const Window& w = c.window;
    const ConvolutionKey key{precision,     w.image,        w.kernel, w.stride,     w.dilation, w.pad_low,
                             c.in_channels, c.out_channels, w.groups, c.transposed, images};
    auto found = planned_convolutions.find(key);
    if (found == planned_convolutions.end()) {
      try {
        found = planned_convolutions.emplace(key, plan(c, images)).first;
      } catch (const Error&) {
        if (images == 1) throw;
        const std::int64_t half = images / 2;
        convolve(c, half, x, weights, y, size_x, size_y);
        return convolve(c, images - half, x + half * size_x, weights, y + half * size_y, size_x, size_y);
      }
    }
    const PlannedConvolution& planned = found->second;
    const float one = 1, zero = 0;
    if (c.transposed) {
      check(cudnnConvolutionBackwardData(convolutions, &one, planned.filter.get(), weights, planned.output.get(), x,
                                         planned.description.get(), planned.backward, workspace, planned.workspace, &zero,
                                         planned.image.get(), y),
            "transposed convolution");
    } else {
      check(cudnnConvolutionForward(convolutions, &one, planned.image.get(), x, planned.filter.get(), weights,
                                    planned.description.get(), planned.forward, workspace, planned.workspace, &zero,
                                    planned.output.get(), y),
            "convolution");
    }
  }

  PlannedConvolution plan(const Convolution& c, std::int64_t images) const {
    const Window& w = c.window;
    PlannedConvolution planned;
    const cudnnDataType_t type = precision == Precision::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    planned.image = images_of(images, c.in_channels, w.image, type);
    planned.output = images_of(images, c.out_channels, w.output(), type);
    cudnnFilterDescriptor_t filter = nullptr;
    check(cudnnCreateFilterDescriptor(&filter), "cuDNN filter");
    planned.filter.reset(filter);
    check(cudnnSetFilter4dDescriptor(filter, type, CUDNN_TENSOR_NHWC, static_cast<int>(c.out_channels),
                                     static_cast<int>(c.in_channels / w.groups), static_cast<int>(w.kernel[0]),
                                     static_cast<int>(w.kernel[1])),
          "cuDNN filter");
    cudnnConvolutionDescriptor_t raw = nullptr;
    check(cudnnCreateConvolutionDescriptor(&raw), "cuDNN convolution");
    planned.description.reset(raw);
    const cudnnMathType_t math = precision == Precision::float32 ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
    check(cudnnSetConvolution2dDescriptor(raw, static_cast<int>(w.pad_low[0]), static_cast<int>(w.pad_low[1]),
                                          static_cast<int>(w.stride[0]), static_cast<int>(w.stride[1]),
                                          static_cast<int>(w.dilation[0]), static_cast<int>(w.dilation[1]),
                                          CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
          "cuDNN convolution");
    check(cudnnSetConvolutionMathType(raw, math), "cuDNN precision");
    check(cudnnSetConvolutionGroupCount(raw, static_cast<int>(w.groups)), "cuDNN groups");
    int found = 0;
    if (c.transposed) {
      std::vector<cudnnConvolutionBwdDataAlgoPerf_t> all(CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT);
      check(cudnnGetConvolutionBackwardDataAlgorithm_v7(convolutions, filter, planned.output.get(), raw, planned.image.get(),
                                                        static_cast<int>(all.size()), &found, all.data()),
            "cuDNN heuristic");
      all.resize(static_cast<std::size_t>(found));
      const auto& best = chosen(all, math);
      planned.backward = best.algo;
      check(cudnnSetConvolutionMathType(raw, best.mathType), "cuDNN precision");  // an algorithm goes with its arithmetic
      planned.workspace = best.memory;
    } else {
      std::vector<cudnnConvolutionFwdAlgoPerf_t> all(CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
      check(cudnnGetConvolutionForwardAlgorithm_v7(convolutions, planned.image.get(), filter, raw, planned.output.get(),
                                                   static_cast<int>(all.size()), &found, all.data()),
            "cuDNN heuristic");
      all.resize(static_cast<std::size_t>(found));
      const auto& best = chosen(all, math);
      planned.forward = best.algo;
      check(cudnnSetConvolutionMathType(raw, best.mathType), "cuDNN precision");
      planned.workspace = best.memory;
    }
    return planned;
  }
};

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  (void)cudaGetLastError();
  return 0;
}

Device::Device(int ordinal, Precision precision) : state_(std::make_unique<State>()) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  (void)cudaGetLastError();
  if (status != cudaSuccess || count == 0) {
    throw Error{
        ErrorCode::resources, "--device",
        std::string("no CUDA device was found (") + cudaGetErrorString(status == cudaSuccess ? cudaErrorNoDevice : status) + ")",
        "use --device cpu"};
  }
  if (ordinal < 0 || ordinal >= count)
    throw Error{ErrorCode::resources, "--device", "there is no CUDA device " + std::to_string(ordinal),
                "the last one is cuda:" + std::to_string(count - 1)};
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal), "CUDA device");
  if (major < kOldest) {
    throw Error{ErrorCode::resources, "--device", "CUDA device " + std::to_string(ordinal) + " is of an older kind than Ampere",
                "use --device cpu"};
  }
  state_->ordinal = ordinal;
  state_->precision = precision;
  check(cudaSetDevice(ordinal), "CUDA device");
  check(cudaStreamCreateWithFlags(&state_->stream, cudaStreamNonBlocking), "CUDA stream");
  check(cublasLtCreate(&state_->products), "cuBLASLt");
  check(cudnnCreate(&state_->convolutions), "cuDNN");
  check(cudnnSetStream(state_->convolutions, state_->stream), "cuDNN");
  check(cudaMalloc(&state_->workspace, std::max(kProductWorkspace, kConvolutionWorkspace)), "workspace");
}

Device::~Device() = default;

void Device::use() { check(cudaSetDevice(state_->ordinal), "CUDA device"); }

void Device::set_precision(Precision precision) { state_->precision = precision; }

std::string Device::name() const {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, state_->ordinal), "CUDA device");
  return properties.name;
}

std::int64_t Device::free_bytes() const {
  std::size_t available = 0, total = 0;
  check(cudaSetDevice(state_->ordinal), "CUDA device");
  check(cudaMemGetInfo(&available, &total), "CUDA memory");
  return static_cast<std::int64_t>(available);
}

void* Device::allocate(std::int64_t bytes) {
  void* memory = nullptr;
  check(cudaSetDevice(state_->ordinal), "CUDA device");
  check(cudaMalloc(&memory, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))), "CUDA memory");
  return memory;
}

// Waits for the device, so that nothing is still reading.
void Device::release(void* memory) noexcept { cudaFree(memory); }

void Device::upload(void* to, const void* from, std::int64_t bytes) {
  if (bytes <= 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, state_->stream), "copy to the device");
  wait();
}

void Device::download(void* to, const void* from, std::int64_t bytes) {
  if (bytes <= 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, state_->stream),
        "copy from the device");
  wait();
}

void Device::copy(void* to, const void* from, std::int64_t bytes) {
  if (bytes <= 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, state_->stream),
        "copy on the device");
}

void Device::clear(void* memory, std::int64_t bytes) {
  if (bytes <= 0) return;
  check(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), state_->stream), "CUDA memory");
}

void Device::wait() { check(cudaStreamSynchronize(state_->stream), "kernel"); }

void Device::multiply(const Product& p) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return;
  if (p.k == 0) return clear(p.c, p.batch * p.m * p.n * static_cast<std::int64_t>(sizeof(float)));
  for (std::int64_t first = 0; first < p.batch; first += kMostProducts) {
    Product part = p;
    part.a += first * p.stride_a;
    part.b += first * p.stride_b;
    part.c += first * p.stride_c;
    part.batch = std::min(kMostProducts, p.batch - first);
    state_->multiply(part);
  }
}

bool Device::convolves(const Convolution& convolution) const {
  if (convolution.window.image.size() != 2 || convolution.window.pad_low != convolution.window.pad_high) return false;
  try {
    (void)state_->plan(convolution, 1);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void Device::convolve(const Convolution& c, std::int64_t images, const float* x, float* y) {
  const std::int64_t image = element_count(c.window.image) * c.in_channels,
                     output = element_count(c.window.output()) * c.out_channels;
  const std::int64_t size_x = c.transposed ? output : image, size_y = c.transposed ? image : output;
  const bool narrow = state_->precision == Precision::bf16;
  const std::int64_t most = narrow ? std::min(kMostElements, kNarrowElements) : kMostElements;
  const std::int64_t step = std::min(images, std::max<std::int64_t>(1, most / std::max(image, output)));
  const std::int64_t weights = c.out_channels * element_count(c.window.kernel) * c.in_channels / c.window.groups;
  if (narrow) for_each(*this, weights, ToBf16{c.filter, state_->narrow_filter.grown(*this, weights)});
  for (std::int64_t first = 0; first < images; first += step) {
    const std::int64_t count = std::min(step, images - first);
    const float* from = x + first * size_x;
    float* to = y + first * size_y;
    if (!narrow) {
      state_->convolve(c, count, from, c.filter, to, size_x, size_y);
      continue;
    }
    __nv_bfloat16 *narrow_x = state_->narrow_x.grown(*this, step * size_x),
                  *narrow_y = state_->narrow_y.grown(*this, step * size_y);
    for_each(*this, count * size_x, ToBf16{from, narrow_x});
    state_->convolve(c, count, narrow_x, state_->narrow_filter.data(), narrow_y, size_x, size_y);
    for_each(*this, count * size_y, FromBf16{narrow_y, to});
  }
}

void check_launch() { check(cudaGetLastError(), "kernel"); }

void* stream_of(Device& device) { return device.state().stream; }

}  // namespace probust::cuda
