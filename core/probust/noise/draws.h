// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "probust/noise/noise.h"

// Unit draws, one per element and lane, laid out [elements][lanes]: the same bits on every compiler, CPU and browser.
namespace probust::draws {

/// Adds `scale` times a unit draw to every x: standard normal, uniform on [-1, 1], or with density e^-|t| / 2.
void add(ElementNoise::Draw draw, const NoiseLanes& lanes, std::int64_t elements, float scale, float* x);
void add_normal(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x);

/// Two standard normals from two uniform words.
void box_muller(std::uint32_t radius_word, std::uint32_t angle_word, float& z0, float& z1);

}  // namespace probust::draws
