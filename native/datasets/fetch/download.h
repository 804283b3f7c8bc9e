// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "datasets/bytes.h"
#include "probust/base/stop.h"

namespace probust::datasets {

struct DownloadFailure {
  std::string problem;
  bool passing = false;  ///< whether another attempt may succeed
};

/// Downloads a URL with the program curl, and passes its contents to `take` piece by piece, at most `most` bytes. Redirections
/// are followed; a transfer that stalls for 30 seconds is cancelled. Returns the problem, if any. Throws Error: unreadable
/// (curl is not installed), interrupted, and the errors of `take`.
std::optional<DownloadFailure> download(const std::string& url, std::uint64_t most, const std::function<void(Bytes)>& take,
                                        const StopToken* stop = nullptr);

}  // namespace probust::datasets
