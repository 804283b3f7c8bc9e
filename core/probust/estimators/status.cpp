// SPDX-License-Identifier: MIT
#include "probust/estimators/status.h"

namespace probust {

std::string_view word(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::tie:
      return "tie";
    case Status::decided:
      return "decided";
    case Status::undecided:
      return "undecided";
    case Status::capped:
      return "capped";
    case Status::bound:
      return "bound";
    case Status::approximate:
      return "approximate";
    case Status::inexact:
      return "inexact";
    case Status::disagrees:
      return "disagrees";
    case Status::degenerate:
      return "degenerate";
    case Status::undefined:
      return "undefined";
    case Status::nonfinite:
      return "nonfinite";
    case Status::invalid:
      return "invalid";
    case Status::unsupported:
      return "unsupported";
    case Status::resources:
      return "resources";
    case Status::numerical:
      return "numerical";
  }
  return "";
}

std::optional<Status> status_of(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(Status::numerical); ++i) {
    const auto status = static_cast<Status>(i);
    if (probust::word(status) == word) return status;
  }
  return std::nullopt;
}

}  // namespace probust
