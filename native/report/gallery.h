// SPDX-License-Identifier: MIT
//
// Pictures of the least and most robust points, and of noisy samples of them.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probust/analysis/ranking.h"
#include "report/picture.h"
#include "report/sample_pictures.h"

namespace probust::report {

/// A point under a noise model. It may have several rows, one for each estimator.
struct NoisyPoint {
  std::string model, noise;  ///< as in rows
  std::int64_t index = 0;
  auto operator<=>(const NoisyPoint&) const = default;
};
NoisyPoint noisy_point_of(const Row& row);

/// Noisy samples of one image.
struct SampleSheet {
  std::int64_t index = 0;
  Picture original{};
  std::map<std::string, std::vector<Picture>> of_noise{};  ///< by the noise's text in rows; the least changed samples first
};

/// Points as pictures, or the reason why there are none.
struct Pictures {
  std::map<std::int64_t, Picture> of_point;  ///< by position in the data
  std::string missing;                       ///< a sentence for the user; empty if all points have pictures
  std::map<NoisyPoint, WrongVersion> wrong{};
  std::string wrong_missing{};  ///< a sentence that says why entries of `wrong` are missing; empty if none are
  std::optional<SampleSheet> sheet{};
};

/// The rows that the rankings contain, one for each point and noise.
std::vector<const Row*> ranked_rows(std::span<const Ranking> rankings);

/// Explains p and the pictures to a reader.
std::string explanation(const Pictures& pictures);

/// The least and the most robust points of a ranking, with their estimates. Points without a picture are omitted.
std::string gallery(const Ranking& ranking, const Pictures& pictures, const std::vector<std::string>& class_names);

/// A page with the galleries of several rankings. `title` is text.
std::string gallery_page(const std::string& title, std::span<const Ranking> rankings, const Pictures& pictures,
                         const std::vector<std::string>& class_names);

}  // namespace probust::report
