// SPDX-License-Identifier: MIT
#include <mpi.h>

#include <memory>

#include "cluster/cluster.h"
#include "cluster/module.h"

namespace probust::cluster {
namespace {

constexpr int kTag = 0;

// MPI's default error handler ends all ranks, so every call that returns has succeeded.
class MpiCluster final : public Cluster {
 public:
  MpiCluster() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiCluster() override { MPI_Finalize(); }
  MpiCluster(const MpiCluster&) = delete;
  MpiCluster& operator=(const MpiCluster&) = delete;

  void send(int to, std::span<const std::byte> bytes) override {
    MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, kTag, MPI_COMM_WORLD);
  }

  bool receive(Message& message) override {
    int arrived = 0, size = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &arrived, &status);
    if (arrived == 0) return false;
    MPI_Get_count(&status, MPI_BYTE, &size);
    message.from = status.MPI_SOURCE;
    message.bytes.resize(static_cast<std::size_t>(size));
    MPI_Recv(message.bytes.data(), size, MPI_BYTE, message.from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return true;
  }
};

}  // namespace

extern "C" Cluster* probust_join_cluster() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS || provided < MPI_THREAD_SERIALIZED)
    return nullptr;
  return std::make_unique<MpiCluster>().release();
}

}  // namespace probust::cluster
