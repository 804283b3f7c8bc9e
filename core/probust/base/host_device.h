// SPDX-License-Identifier: MIT
#pragma once

// Marks a function that also runs on a GPU. nvcc compiles it for host and device; for other compilers, the macro is empty.
#ifdef __CUDACC__
#define PROBUST_HOST_DEVICE __host__ __device__
#else
#define PROBUST_HOST_DEVICE
#endif
