// SPDX-License-Identifier: MIT
//
// Processes that work together on one command. Nothing else in the project uses MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace probust::cluster {

struct Message {
  int from = 0;  ///< the sender's rank
  std::vector<std::byte> bytes;
};

/// The processes ("ranks") that one call of mpirun started, as seen by one of them. Only one thread at a time may use this
/// object.
class Cluster {
 public:
  virtual ~Cluster() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Sends a message to a rank. Messages from one sender arrive in order. After this returns, `bytes` may be reused.
  virtual void send(int to, std::span<const std::byte> bytes) = 0;

  /// Receives a message. Returns false if none has arrived.
  virtual bool receive(Message& message) = 0;

 protected:
  int rank_ = 0, size_ = 1;
};

/// The ranks that were started together with this process; null if it was started alone. Throws Error{resources} if mpirun
/// started it, but this build has no MPI or MPI does not work.
std::unique_ptr<Cluster> join();

}  // namespace probust::cluster
