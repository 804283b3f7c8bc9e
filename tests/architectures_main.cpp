// SPDX-License-Identifier: MIT
// Writes the networks of support/architectures.h as ONNX files, for comparisons with other programs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/architectures.h"

int main(int argc, char** argv) {
  using namespace probust::test;
  CLI::App app{"Writes FOLDER/NAME.onnx with random weights", "probust-architectures"};
  std::string name, folder;
  Scale scale;
  app.add_option("name", name, "one architecture, or all")->required();
  app.add_option("folder", folder, "where the files go")->required();
  app.add_option("--width", scale.width, "factor of all numbers of channels");
  app.add_option("--depth", scale.depth, "factor of all numbers of blocks");
  app.add_option("--size", scale.size, "side of the images; 0: as usual for the network");
  app.add_option("--classes", scale.classes);
  app.add_option("--seed", scale.seed);
  CLI11_PARSE(app, argc, argv);
  try {
    std::filesystem::create_directories(folder);
    for (const Architecture& known : architectures()) {
      if (name != "all" && known.name != architecture(name).name) continue;
      const std::string path = folder + "/" + std::string(known.name) + ".onnx", bytes = make_onnx(known, scale);
      std::ofstream file(path, std::ios::binary);
      if (!file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush())
        throw std::runtime_error("cannot write " + path);
      std::printf("%s\n", path.c_str());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "probust-architectures: %s\n", error.what());
    return 1;
  }
  return 0;
}
