// SPDX-License-Identifier: MIT
#pragma once

#include <cublasLt.h>
#include <cudnn.h>
#include <dlfcn.h>

#include <string>

#include "probust/base/error.h"

// The functions of cuBLASLt and cuDNN under their own names. Each is looked up when it is first called. Programs therefore
// start even if the libraries are not installed, and can report what is missing. Models without convolutions do not need cuDNN.
namespace probust::cuda {

#define PROBUST_TEXT_OF(value) #value
#define PROBUST_FILE_OF(name, version) name PROBUST_TEXT_OF(version)

/// Looks up a function of the shared library `file`. Throws Error{resources} with the loader's reason.
inline void* find_in_library(const char* name, const char* file, const char* function) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);  // if it is already open, this returns the same handle
  void* const found = library == nullptr ? nullptr : dlsym(library, function);
  if (found != nullptr) return found;
  const char* const reason = dlerror();
  throw Error{
      ErrorCode::resources, option("device"),
      "needs " + std::string(name) + ", which cannot be loaded: " + (reason == nullptr ? "the loader gives no reason" : reason),
      "install it, or add its folder to LD_LIBRARY_PATH"};
}

inline void* find_in_cublaslt(const char* function) {
  return find_in_library("cuBLAS", PROBUST_FILE_OF("libcublasLt.so.", CUBLAS_VER_MAJOR), function);
}

inline void* find_in_cudnn(const char* function) {
  find_in_cublaslt("cublasLtCreate");  // loaded first, because cuDNN uses the cuBLASLt that is already loaded
  return find_in_library("cuDNN", PROBUST_FILE_OF("libcudnn.so.", CUDNN_MAJOR), function);
}

#define PROBUST_CUBLASLT_FUNCTIONS(DO)               \
  DO(cublaslt, cublasLtCreate)                       \
  DO(cublaslt, cublasLtDestroy)                      \
  DO(cublaslt, cublasLtGetStatusString)              \
  DO(cublaslt, cublasLtMatmul)                       \
  DO(cublaslt, cublasLtMatmulAlgoConfigGetAttribute) \
  DO(cublaslt, cublasLtMatmulAlgoGetHeuristic)       \
  DO(cublaslt, cublasLtMatmulDescCreate)             \
  DO(cublaslt, cublasLtMatmulDescDestroy)            \
  DO(cublaslt, cublasLtMatmulDescSetAttribute)       \
  DO(cublaslt, cublasLtMatmulPreferenceCreate)       \
  DO(cublaslt, cublasLtMatmulPreferenceDestroy)      \
  DO(cublaslt, cublasLtMatmulPreferenceSetAttribute) \
  DO(cublaslt, cublasLtMatrixLayoutCreate)           \
  DO(cublaslt, cublasLtMatrixLayoutDestroy)          \
  DO(cublaslt, cublasLtMatrixLayoutSetAttribute)

#define PROBUST_CUDNN_FUNCTIONS(DO)                      \
  DO(cudnn, cudnnBackendCreateDescriptor)                \
  DO(cudnn, cudnnBackendDestroyDescriptor)               \
  DO(cudnn, cudnnBackendExecute)                         \
  DO(cudnn, cudnnBackendFinalize)                        \
  DO(cudnn, cudnnBackendGetAttribute)                    \
  DO(cudnn, cudnnBackendSetAttribute)                    \
  DO(cudnn, cudnnConvolutionBackwardData)                \
  DO(cudnn, cudnnConvolutionForward)                     \
  DO(cudnn, cudnnCreate)                                 \
  DO(cudnn, cudnnCreateConvolutionDescriptor)            \
  DO(cudnn, cudnnCreateFilterDescriptor)                 \
  DO(cudnn, cudnnCreateTensorDescriptor)                 \
  DO(cudnn, cudnnDestroy)                                \
  DO(cudnn, cudnnDestroyConvolutionDescriptor)           \
  DO(cudnn, cudnnDestroyFilterDescriptor)                \
  DO(cudnn, cudnnDestroyTensorDescriptor)                \
  DO(cudnn, cudnnGetConvolutionBackwardDataAlgorithm_v7) \
  DO(cudnn, cudnnGetConvolutionForwardAlgorithm_v7)      \
  DO(cudnn, cudnnGetErrorString)                         \
  DO(cudnn, cudnnGetLastErrorString)                     \
  DO(cudnn, cudnnSetConvolution2dDescriptor)             \
  DO(cudnn, cudnnSetConvolutionGroupCount)               \
  DO(cudnn, cudnnSetConvolutionMathType)                 \
  DO(cudnn, cudnnSetFilter4dDescriptor)                  \
  DO(cudnn, cudnnSetStream)                              \
  DO(cudnn, cudnnSetTensor4dDescriptor)

// Defines an object that has the name of a library function and can be called like it. In this namespace, it hides the
// function. If a function is missing from the lists above, linking the tests fails with an undefined symbol.
#define PROBUST_LAZY_FUNCTION(library, function)                                                       \
  struct function##_lazy {                                                                             \
    operator decltype (&::function)() const {                                                          \
      static const auto found = reinterpret_cast<decltype(&::function)>(find_in_##library(#function)); \
      return found;                                                                                    \
    }                                                                                                  \
  };                                                                                                   \
  inline constexpr function##_lazy function{};
PROBUST_CUBLASLT_FUNCTIONS(PROBUST_LAZY_FUNCTION)
PROBUST_CUDNN_FUNCTIONS(PROBUST_LAZY_FUNCTION)
#undef PROBUST_LAZY_FUNCTION

}  // namespace probust::cuda
