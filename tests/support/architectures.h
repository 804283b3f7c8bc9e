// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// Well-known networks as ONNX models with random weights, generated from a seed, without files.
namespace probust::test {

/// The sizes that may be smaller than in the network's paper.
struct Scale {
  double width = 1;       ///< factor of all numbers of channels, which remain multiples of 8
  double depth = 1;       ///< factor of the number of blocks per stage, which is at least one
  std::int64_t size = 0;  ///< images are [3, size, size]; 0: the network's usual size
  std::int64_t classes = 10;
  unsigned seed = 1;
};

struct Architecture {
  std::string_view name;
  std::int64_t usual_size;  ///< image size at full scale
  std::int64_t size_step;   ///< the image size is a multiple of this
  std::string (*onnx)(const Scale&);
};

/// ResNet-18 (the variant for images of 32 x 32), ResNet-50, VGG-16, MobileNetV2, EfficientNet-B0, DenseNet-121, ConvNeXt-T,
/// ViT-B/16 and Mixer-S/16.
std::span<const Architecture> architectures();

/// Throws std::invalid_argument if the name is unknown.
const Architecture& architecture(std::string_view name);

/// The bytes of the ONNX model.
std::string make_onnx(const Architecture& architecture, Scale scale = {});

}  // namespace probust::test
