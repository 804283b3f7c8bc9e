// SPDX-License-Identifier: MIT
//
// Images next to noisy samples of them, as HTML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/picture.h"

namespace probust::report {

/// The wrong version of a point: the most probable of its noisy samples whose prediction does not survive.
struct WrongVersion {
  std::optional<Picture> picture{};     ///< empty if the prediction survives in every sample
  std::int64_t predicted = 0;           ///< the class predicted for it
  std::int64_t count = 0, samples = 0;  ///< number of wrong samples with this class, and number of all samples drawn
};

/// Explains to readers how the wrong version is chosen.
inline constexpr const char* kWrongVersion =
    "Of the noisy samples whose prediction does not survive, it is the one with the most probable parameters, such as the "
    "smallest angle. If all are equally probable, or the noise has no parameters, it is the one nearest to the image.";

/// An <img> element with the alternative text `about`. Small pictures are enlarged without smoothing.
std::string image_tag(const Picture& picture, const std::string& about);

/// The picture of a point, with its wrong version, if any, next to it. `about` is the alternative text of the first picture,
/// and `noise` the noise model of the second.
std::string image_pair(const Picture& original, const std::string& about, const WrongVersion& wrong, const std::string& noise);

/// A text such as "becomes 3 (Bag) in 31 of 100", which counts samples, or "survives in all of 100" if there is no wrong
/// version. `name` is the text for the class.
std::string wrong_text(const WrongVersion& wrong, const std::string& name);

/// A picture in a strip, with its alternative text and lines of text below it.
struct StripCell {
  Picture picture;
  std::string about;
  std::vector<std::string> lines{};
};

/// A row of pictures: an image, and noisy samples of it.
std::string strip(const Picture& original, const std::vector<StripCell>& samples);

}  // namespace probust::report
