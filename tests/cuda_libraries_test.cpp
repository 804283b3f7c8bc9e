// SPDX-License-Identifier: MIT
// The functions of cuBLASLt and cuDNN that native/cuda/gpu looks up by name. They are called only if that needs no GPU.
#include <gtest/gtest.h>

#include "cuda/gpu/lazy.h"

namespace probust::cuda {
namespace {

void expect_found(void* (*find)(const char*), const char* function) { EXPECT_NO_THROW(find(function)) << function; }

TEST(CudaLibraries, HaveEveryFunction) {
#define PROBUST_EXPECT_FOUND(library, function) expect_found(find_in_##library, #function);
  PROBUST_CUBLASLT_FUNCTIONS(PROBUST_EXPECT_FOUND)
  PROBUST_CUDNN_FUNCTIONS(PROBUST_EXPECT_FOUND)
#undef PROBUST_EXPECT_FOUND
}

TEST(CudaLibraries, AreCalledByTheirFunctionsNames) {
  cublasLtMatrixLayout_t layout = nullptr;
  ASSERT_EQ(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 3, 2, 3), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM");
}

TEST(CudaLibraries, OneThatIsMissingIsNamed) {
  try {
    find_in_library("cuDNN", "libprobust-missing.so.9", "cudnnCreate");
    FAIL() << "found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::resources);
    EXPECT_NE(error.problem.find("needs cuDNN, which cannot be loaded: libprobust-missing.so.9: "), std::string::npos)
        << error.problem;
  }
}

TEST(CudaLibraries, AMissingFunctionIsNamed) {
  try {
    find_in_cublaslt("cublasLtNoSuchFunction");
    FAIL() << "found";
  } catch (const Error& error) {
    EXPECT_NE(error.problem.find("cublasLtNoSuchFunction"), std::string::npos) << error.problem;
  }
}

}  // namespace
}  // namespace probust::cuda
