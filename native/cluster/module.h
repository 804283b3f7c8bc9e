// SPDX-License-Identifier: MIT
#pragma once

#include "cluster/cluster.h"

namespace probust::cluster {

inline constexpr const char* kModule = "probust_mpi.so";
inline constexpr const char* kJoin = "probust_join_cluster";

/// The module's entry point. Returns null if MPI cannot be initialised.
using Join = Cluster* (*)();

}  // namespace probust::cluster
