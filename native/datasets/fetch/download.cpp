// SPDX-License-Identifier: MIT
#include "datasets/fetch/download.h"

#include <algorithm>
#include <array>
#include <vector>

#include "datasets/fetch/program.h"

namespace probust::datasets {
namespace {

// kPassing: curl's exit statuses for an unreliable connection: a partial file, a timeout, a broken connection or stream.
// kHttpError: curl's exit status if the server reports an error.
constexpr std::array kPassing{16, 18, 28, 52, 55, 56, 92};
constexpr int kHttpError = 22;

bool passing(const Program::End& end) {
  if (end.status == kHttpError) return end.messages.find("error: 5") != std::string::npos;  // HTTP status 5xx
  return std::find(kPassing.begin(), kPassing.end(), end.status) != kPassing.end();
}

}  // namespace

std::optional<DownloadFailure> download(const std::string& url, std::uint64_t most, const std::function<void(Bytes)>& take,
                                        const StopToken* stop) {
  Program curl({"curl", "--fail", "--location", "--silent", "--show-error", "--globoff", "--connect-timeout", "20",
                "--speed-limit", "1000", "--speed-time", "30", "--url", url},
               "install it, or give " + option("from") + " FOLDER with a copy of the files");
  std::vector<std::uint8_t> block(std::size_t{1} << 16);
  std::uint64_t bytes = 0;
  while (const std::size_t count = curl.read(block, stop)) {
    bytes += count;
    if (bytes > most) return DownloadFailure{"returned more than the " + std::to_string(most) + " bytes expected"};
    take(Bytes(block).first(count));
  }
  const Program::End end = curl.end();
  if (end.status == 0) return std::nullopt;
  const std::string said = end.messages.empty() ? "curl exited with status " + std::to_string(end.status) : end.messages;
  return DownloadFailure{"cannot be downloaded: " + said, passing(end)};
}

}  // namespace probust::datasets
