// SPDX-License-Identifier: MIT
#include <bit>

#include "datasets/npy.h"
#include "probust/ops/append.h"

namespace probust {

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
BasicNpyWriter<T>::BasicNpyWriter(const std::string& path, const Shape& shape) : file_(path), missing_(element_count(shape)) {
  static_assert(std::endian::native == std::endian::little, "the header says '<'");
  header_ = npy_header("<f" + std::to_string(sizeof(T)), shape);
}

template <class T>
void BasicNpyWriter<T>::write_header() {
  file_.write(header_.data(), header_.size());
  header_.clear();
}

template <class T>
void BasicNpyWriter<T>::append(std::span<const T> values) {
  if (std::ssize(values) > missing_)
    throw Error{ErrorCode::usage, file_.path(), "was given more values than its shape holds", ""};
  write_header();
  file_.write(values.data(), values.size_bytes());
  missing_ -= std::ssize(values);
}

template <class T>
void BasicNpyWriter<T>::close() {
  if (missing_ != 0) throw Error{ErrorCode::usage, file_.path(), "ends " + std::to_string(missing_) + " values too early", ""};
  write_header();
  file_.commit();
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
