// SPDX-License-Identifier: MIT
#pragma once

// Marks a function that also runs on a GPU. Where nvcc compiles it there are two versions of it; elsewhere the word is empty.
#ifdef __CUDACC__
#define PROBUST_EVERYWHERE __host__ __device__
#else
#define PROBUST_EVERYWHERE
#endif
