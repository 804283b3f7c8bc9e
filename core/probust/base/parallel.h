// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

namespace probust {

/// Calls body(task, worker) for every task in 0..tasks-1, on up to `threads` threads, fewer if others are busy. Workers are
/// numbered from 0. Tasks start in order. The first exception ends the loop and is rethrown to the caller. With one thread, the
/// caller does all the work. Threads are started once and kept, so a child of fork() must not call this function. Loops can be
/// nested, except in WebAssembly, where only the main thread can start threads.
void parallel_for(std::int64_t tasks, int threads, const std::function<void(std::int64_t task, int worker)>& body);

}  // namespace probust
