// SPDX-License-Identifier: MIT
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "cuda/gpu/lazy.h"
#include "probust/base/error.h"

// Wrappers for CUDA's libraries: they convert statuses to errors, own handles, and describe products.
namespace probust::cuda {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // otherwise the next launch would report it again
  const std::string text = std::string(what) + ": " + cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation) throw out_of_memory("is too large for the device: " + text);
  throw Error{ErrorCode::resources, "the device", "failed: " + text, ""};
}

inline void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error{ErrorCode::resources, "the device", "failed: " + std::string(what) + ": " + cublasLtGetStatusString(status), ""};
}

// cuDNN 9 has many codes for this status.
inline bool is_unsupported(cudnnStatus_t status) {
#if CUDNN_MAJOR >= 9
  return CUDNN_STATUS_CATEGORY(static_cast<int>(status)) == CUDNN_STATUS_NOT_SUPPORTED;
#else
  return status == CUDNN_STATUS_NOT_SUPPORTED;
#endif
}

inline std::string last_cudnn_error() {
  std::string text;
#if CUDNN_MAJOR >= 9
  std::array<char, 1024> buffer{};
  cudnnGetLastErrorString(buffer.data(), buffer.size());
  text = buffer.data();
  std::replace(text.begin(), text.end(), '\n', ' ');
  constexpr std::size_t kEnough = 200;  // length of messages; cuDNN may list all algorithms that it tried
  if (text.size() > kEnough) text = text.substr(0, kEnough) + " ...";
#endif
  return text.empty() ? text : " (" + text + ")";
}

inline void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw Error{is_unsupported(status) ? ErrorCode::unsupported : ErrorCode::resources, "the device",
              "failed: " + std::string(what) + ": " + cudnnGetErrorString(status) + last_cudnn_error(), ""};
}

// A pointer that owns a library handle.
template <class Handle, auto& destroy>
struct Free {
  void operator()(Handle handle) const { destroy(handle); }
};
template <class Handle, auto& destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Free<Handle, destroy>>;

using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using ProductDescription = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using CapturedGraph = Owned<cudaGraph_t, cudaGraphDestroy>;

// The layout of `batch` column-major matrices [rows, columns].
inline Layout layout_of(std::int64_t rows, std::int64_t columns, std::int64_t stride, std::int64_t batch) {
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

// The alignments of the addresses of A, B, C and the bias, in bytes.
using Alignments = std::array<std::uint32_t, 4>;

// Everything that defines a product, except its addresses.
using ProductKey = std::tuple<Precision, Alignments, bool, bool, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                              std::int64_t, std::int64_t, std::int64_t, bool>;

inline cublasComputeType_t compute_type(Precision precision) {
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

// The alignment of each address in bytes, at most 256, because cuBLASLt does not distinguish larger ones.
inline Alignments alignments_of(const Product& p) {
  const auto one = [](const float* address) {
    std::uint32_t bytes = 256;
    while (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) bytes /= 2;
    return bytes;
  };
  return {one(p.a), one(p.b), one(p.c), one(p.bias)};
}

// The product without its bias and activation.
inline Product without_epilogue(Product p) {
  p.bias = nullptr;
  p.activation = Activation::none;
  return p;
}

// The library computes C transposed: it adds one element of a bias to each of its rows, which are our columns. All matrices of
// a batch share one bias, because no stride is set for it. Only the bias is fused, because the library's rectifier is max(x,
// 0), which may turn NaN into 0.
inline cublasLtEpilogue_t epilogue_of(const Product& p) {
  return p.bias != nullptr ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

inline std::string name_of(const cublasLtMatmulAlgo_t& algorithm) {
  std::int32_t number = 0, tile = 0;
  check(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_ID, &number, sizeof(number), nullptr),
        "cuBLASLt algorithm");
  check(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof(tile), nullptr),
        "cuBLASLt algorithm");
  return "algorithm " + std::to_string(number) + ", tile " + std::to_string(tile);
}

struct PlannedProduct {
  ProductDescription description;
  Layout a, b, c;
  cublasLtMatmulAlgo_t algorithm;
  std::size_t workspace = 0;
  bool biased = true;  ///< whether the product includes the bias, if there is one
  std::string name;    ///< the name of the algorithm
};

struct Captured {
  CapturedGraph graph;  ///< null if some of the work cannot be captured; none of it has then been done
  std::string refusal;
};

// Captures the work that `work` submits to the stream as a graph. If `work` throws, the work is not captured; the error is
// reported later, when the caller does the work directly.
inline Captured captured(cudaStream_t stream, const std::function<void()>& work) {
  const cudaError_t begun = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (begun != cudaSuccess) return {nullptr, cudaGetErrorString(begun)};
  std::string refusal;
  try {
    work();
  } catch (const std::exception& problem) {
    refusal = problem.what();
  }
  cudaGraph_t raw = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &raw);
  CapturedGraph graph(raw);
  if (refusal.empty() && ended != cudaSuccess) refusal = cudaGetErrorString(ended);
  return {refusal.empty() ? std::move(graph) : nullptr, refusal};
}

}  // namespace probust::cuda
