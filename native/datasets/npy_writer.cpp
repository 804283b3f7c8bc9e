// SPDX-License-Identifier: MIT
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "datasets/npy.h"
#include "probust/ops/append.h"

namespace probust {
namespace {

// Resolves links, so that writing through a link keeps the link.
std::string followed(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

bool is_device_or_pipe(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) && !std::filesystem::is_directory(status);
}

}  // namespace

// The dictionary is padded so that the values begin at a multiple of 64 bytes.
std::string npy_header(std::string_view type, const Shape& shape) {
  std::string extents;
  for (const std::int64_t extent : shape) extents += std::to_string(extent) + (shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  std::string text = "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (" + extents + "), }";
  constexpr std::size_t kPrefix = 10, kAlignment = 64;
  text.append(kAlignment - 1 - (kPrefix + text.size()) % kAlignment, ' ');
  text += '\n';
  const std::string length{static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + text;
}

template <class T>
BasicNpyWriter<T>::BasicNpyWriter(const std::string& path, const Shape& shape)
    : path_(path),
      target_(followed(path)),
      written_(is_device_or_pipe(target_) ? target_ : target_ + ".partial"),
      missing_(element_count(shape)) {
  if (std::filesystem::is_directory(target_)) throw Error{ErrorCode::usage, path_, "is a folder", "name a file to write"};
  file_ = std::fopen(written_.c_str(), "wb");
  if (file_ == nullptr) throw Error{ErrorCode::usage, path_, std::string("cannot be written: ") + std::strerror(errno), ""};
  static_assert(std::endian::native == std::endian::little, "the header says '<'");
  header_ = npy_header("<f" + std::to_string(sizeof(T)), shape);
}

template <class T>
BasicNpyWriter<T>::~BasicNpyWriter() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (written_ != target_) std::remove(written_.c_str());
}

template <class T>
void BasicNpyWriter<T>::write(const void* from, std::size_t bytes) {
  if (bytes == 0 || std::fwrite(from, 1, bytes, file_) == bytes) return;
  throw Error{ErrorCode::resources, path_, std::string("cannot be written to the end: ") + std::strerror(errno), ""};
}

template <class T>
void BasicNpyWriter<T>::write_header() {
  write(header_.data(), header_.size());
  header_.clear();
}

template <class T>
void BasicNpyWriter<T>::append(std::span<const T> values) {
  if (std::ssize(values) > missing_) throw Error{ErrorCode::usage, path_, "has more values than its shape", ""};
  write_header();
  write(values.data(), values.size_bytes());
  missing_ -= std::ssize(values);
}

template <class T>
void BasicNpyWriter<T>::close() {
  if (missing_ != 0) throw Error{ErrorCode::usage, path_, "lacks its last " + std::to_string(missing_) + " values", ""};
  write_header();
  if (std::fflush(file_) != 0 || std::ferror(file_) != 0) {
    throw Error{ErrorCode::resources, path_, std::string("cannot be written to the end: ") + std::strerror(errno), ""};
  }
  if (written_ != target_ && std::rename(written_.c_str(), target_.c_str()) != 0) {
    throw Error{ErrorCode::resources, path_, std::string("cannot be given its name: ") + std::strerror(errno), ""};
  }
  std::fclose(file_);
  file_ = nullptr;
}

template class BasicNpyWriter<float>;
template class BasicNpyWriter<double>;

void write_npy(const std::string& path, const Tensor& tensor) {
  NpyWriter writer(path, tensor.shape);
  writer.append(tensor.data);
  writer.close();
}

void write_npy(const std::string& path, const Shape& shape, std::span<const double> values) {
  NpyWriter64 writer(path, shape);
  writer.append(values);
  writer.close();
}

}  // namespace probust
