// SPDX-License-Identifier: MIT
//
// `mpirun -n 4 probust estimate ...`: rank 0 has the ledger and writes the results. All ranks estimate blocks; the other ranks
// request theirs from rank 0, one at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <map>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "cli/run/ledger.h"
#include "cluster/cluster.h"
#include "probust/base/stop.h"

namespace probust::cli {

/// What rank 0 knows about the other ranks.
struct Ranks {
  cluster::Cluster& cluster;
  int rounds = 1;                         ///< total number of ledgers: one for each model
  std::set<int> gone{};                   ///< ranks that ended before the work was finished
  std::set<int> done{};                   ///< ranks that have been told that the last round has no more blocks
  std::vector<cluster::Message> early{};  ///< requests of ranks that have already started with a later model
};

/// Called when rank 0 ends. Tells the ranks that are still working or waiting to end as well, and waits until all have been
/// told.
void dismiss(Ranks& ranks);

/// Assigns the blocks of rank 0's ledger to the other ranks and accepts their results, on its own thread. During this time,
/// nothing else may use the cluster.
class RankServer {
 public:
  /// All arguments must outlive this object. `round` is the position of the ledger, which belongs to one model. `stop` is set
  /// if results cannot be written.
  RankServer(Ranks& ranks, Ledger& ledger, int round, StopToken& stop);

  /// Stops assigning blocks, and waits until all other ranks have been told that there are no more.
  ~RankServer();
  RankServer(const RankServer&) = delete;
  RankServer& operator=(const RankServer&) = delete;

  /// Waits until all other ranks have been told that there are no more blocks. If their results could not be written, throws
  /// that error.
  void finish();

 private:
  void serve();
  void take(cluster::Message message);
  void answer(int rank, const std::vector<std::byte>& request);

  Ranks& ranks_;
  Ledger& ledger_;
  int round_;
  StopToken& stop_;
  std::map<int, Assignment> working_;  // by rank
  int told_ = 0;                       // number of ranks that have been told that there are no more blocks
  std::exception_ptr failure_;
  std::thread thread_;
};

/// The blocks that rank 0 assigns to this rank in one round.
class RemoteAssignments final : public Assignments {
 public:
  RemoteAssignments(cluster::Cluster& cluster, int round) : cluster_(cluster), round_(round) {}

  /// If this rank ends before all blocks are done, tells rank 0, which then gives its block to another rank.
  ~RemoteAssignments() override;
  RemoteAssignments(const RemoteAssignments&) = delete;
  RemoteAssignments& operator=(const RemoteAssignments&) = delete;

  std::optional<Assignment> next(std::int64_t count) override;
  void deliver(const Assignment& done, Results results) override;

  /// Whether rank 0 ended before the work was finished.
  bool dismissed() const { return dismissed_; }

 private:
  cluster::Cluster& cluster_;
  int round_;
  bool ended_ = false, dismissed_ = false;
};

/// Converts results to bytes, with all numbers exact, and back. Throws Error{internal} for invalid bytes.
std::vector<std::byte> packed(const Results& results);
Results unpacked(std::span<const std::byte> bytes);

}  // namespace probust::cli
