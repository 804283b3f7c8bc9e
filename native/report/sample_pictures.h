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

/// The most probable noisy sample of a point that is wrong: one whose prediction does not survive.
struct WrongVersion {
  std::optional<Picture> picture{};     ///< none if no sample is wrong
  std::int64_t predicted = 0;           ///< its class
  std::int64_t count = 0, samples = 0;  ///< how many samples get this class, and how many were drawn
};

/// How a wrong version is chosen, for a reader.
inline constexpr const char* kWrongVersion =
    "Of the noisy samples whose prediction does not survive, it is the one with the most probable parameters, such as the "
    "smallest angle; if they are equally probable, or there are none, the one nearest to the image.";

/// An <img>; a small picture is enlarged without smoothing. `about` is the text for those who do not see it.
std::string image_tag(const Picture& picture, const std::string& about);

/// A point and, next to it, its wrong version, if it has one. `noise` is text.
std::string image_pair(const Picture& original, const std::string& about, const WrongVersion& wrong, const std::string& noise);

/// "becomes 3 (Bag) in 31 of 100", samples, for a class called `name`; "survives in all of 100" without a wrong version.
std::string wrong_text(const WrongVersion& wrong, const std::string& name);

/// A picture of a strip, with lines of text below it.
struct StripCell {
  Picture picture;
  std::string about;
  std::vector<std::string> lines{};
};

/// An image, and noisy samples of it.
std::string strip(const Picture& original, const std::vector<StripCell>& samples);

}  // namespace probust::report
