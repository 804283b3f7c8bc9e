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

/// Downloads a URL with the program curl, and passes the contents, at most `most` bytes, to `take` piece by piece. Follows
/// redirections, and cancels a transfer that stalls for 30 seconds. Returns the problem, if any. Throws Error: unreadable (curl
/// is not installed), interrupted, and the errors of `take`.
std::optional<DownloadFailure> download(const std::string& url, std::uint64_t most, const std::function<void(Bytes)>& take,
                                        const StopToken* stop = nullptr);

}  // namespace probust::datasets
