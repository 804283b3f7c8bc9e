// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// The networks that people use, as ONNX models with random weights, from a seed and without files.
namespace probust::test {

/// What may be smaller than in the paper that describes the network.
struct Scale {
  double width = 1;       ///< factor of all numbers of channels; they stay multiples of 8
  double depth = 1;       ///< factor of the number of blocks of each stage, at least one of each
  std::int64_t size = 0;  ///< images are [3, size, size]; 0: as usual for the network
  std::int64_t classes = 10;
  unsigned seed = 1;
};

struct Architecture {
  std::string_view name;
  std::int64_t usual_size;  ///< of images at full scale
  std::int64_t size_step;   ///< images' sides are multiples of it
  std::string (*onnx)(const Scale&);
};

/// ResNet-18 (in its form for images of 32 x 32), ResNet-50, VGG-16, MobileNetV2, EfficientNet-B0, DenseNet-121, ConvNeXt-T,
/// ViT-B/16 and Mixer-S/16.
std::span<const Architecture> architectures();

/// Throws std::invalid_argument for a name that none of them has.
const Architecture& architecture(std::string_view name);

/// The bytes of the ONNX model.
std::string make_onnx(const Architecture& architecture, Scale scale = {});

}  // namespace probust::test
