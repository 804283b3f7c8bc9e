// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

namespace probust {

/// Calls body(task, worker) for every task in 0..tasks-1, on up to `threads` threads, fewer where they are busy elsewhere;
/// workers are numbered from 0. Tasks start in order. The first exception ends the loop and is thrown here. With one thread all
/// of it is done by the caller. Threads are started once and stay: a child of fork() may not call it. Loops may be within loops,
/// but not in WebAssembly, where only the thread that began can start others.
void parallel_for(std::int64_t tasks, int threads, const std::function<void(std::int64_t task, int worker)>& body);

}  // namespace probust
