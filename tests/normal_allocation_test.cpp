// SPDX-License-Identifier: MIT
//
// After a solver has solved the largest problem, it allocates no more memory. This is a separate program, because it replaces
// malloc in order to count allocations.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "normal_problems.h"
#include "probust/normal/batch.h"

namespace {
std::atomic<std::int64_t> allocations{0};
}  // namespace

extern "C" {
void* __libc_malloc(std::size_t size);  // glibc's own function
void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
}

namespace {

TEST(NormalAllocation, MemoryIsAllocatedOnce) {
  using namespace probust;
  const auto owned = test::mixed_problems();
  const auto problems = test::views(owned);
  std::vector<normal::Probability> answers(problems.size());
  normal::BatchSolver solver(1);
  const std::int64_t start = allocations;
  solver.solve(problems, answers);
  const std::int64_t first = allocations;
  EXPECT_GT(first, start) << "nothing is counted";
  solver.solve(problems, answers);
  EXPECT_LE(allocations - first, 1) << "for " << problems.size() << " problems";  // the loop itself may allocate once
}

}  // namespace
