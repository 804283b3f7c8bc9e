// SPDX-License-Identifier: MIT
// MPI support is in a separate module, so that the program starts without loading MPI's libraries and runs on machines without
// them.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

#include "cluster/cluster.h"
#include "cluster/module.h"
#include "modules/find_module.h"
#include "probust/base/error.h"

namespace probust::cluster {
namespace {

// Variables that Open MPI, MPICH and Slurm's PMI set for the processes that they start.
bool started_by_mpirun() {
  const char* const names[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
  return std::any_of(std::begin(names), std::end(names), [](const char* name) { return std::getenv(name) != nullptr; });
}

std::string reason() {
  const char* text = dlerror();
  return text == nullptr ? "unknown reason" : text;
}

}  // namespace

std::unique_ptr<Cluster> join() {
  if (!started_by_mpirun()) return nullptr;
  const std::filesystem::path module = find_module(kModule);
  if (module.empty()) {
    throw Error{ErrorCode::resources, "mpirun", "needs MPI, which this build does not have",
                "build with Open MPI installed, or divide the data with " + option("shard")};
  }
  void* const handle = dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);  // Open MPI's own modules need its symbols
  void* const found = handle == nullptr ? nullptr : dlsym(handle, kJoin);
  if (found == nullptr)
    throw Error{ErrorCode::resources, "mpirun", "needs MPI, which cannot be loaded: " + reason(), "install Open MPI's libraries"};
  std::unique_ptr<Cluster> cluster(reinterpret_cast<Join>(found)());
  if (!cluster)
    throw Error{ErrorCode::resources, "mpirun", "needs MPI, which cannot be initialised", "see the messages that MPI printed"};
  return cluster;
}

}  // namespace probust::cluster
