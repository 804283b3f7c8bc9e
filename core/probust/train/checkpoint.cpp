// SPDX-License-Identifier: MIT
// A checkpoint is a line that names the format, then little-endian fields (texts and arrays with their length before them),
// and then the checksum of all bytes before it (FNV-1a, 64 bits).
#include "probust/train/checkpoint.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "probust/base/error.h"

namespace probust {
namespace {

constexpr std::string_view kFormat = "probust checkpoint 1\n";

std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

class StateWriter {
 public:
  std::string bytes{kFormat};

  template <class Number>
  void number(Number value) {
    static_assert(std::is_trivially_copyable_v<Number>);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class Numbers>
  void array(const Numbers& values) {
    number(static_cast<std::uint64_t>(values.size()));
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]);
  }
  void parameters(const std::vector<Parameter>& all) {
    number(static_cast<std::uint64_t>(all.size()));
    for (const Parameter& each : all) {
      array(each.name);
      number(static_cast<std::uint8_t>(each.decays));
      array(each.value.shape);
      array(each.value.data);
    }
  }
  void arrays(const std::vector<std::vector<double>>& all) {
    number(static_cast<std::uint64_t>(all.size()));
    for (const std::vector<double>& each : all) array(each);
  }
};

// Every length is compared with the remaining bytes before memory is allocated.
class StateReader {
 public:
  StateReader(std::string_view bytes, const std::string& where) : left_(bytes), where_(where) {}

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error{ErrorCode::unreadable, where_, what, "start the training over"};
  }
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  template <class Numbers>
  Numbers array() {
    const auto size = length(sizeof(typename Numbers::value_type));
    Numbers values(size, typename Numbers::value_type{});
    if (size > 0) std::memcpy(values.data(), take(size * sizeof values[0]), size * sizeof values[0]);
    return values;
  }
  std::vector<Parameter> parameters() {
    std::vector<Parameter> all(length(1));
    for (Parameter& each : all) {
      each.name = array<std::string>();
      each.decays = number<std::uint8_t>() != 0;
      auto shape = array<Shape>();
      each.value = Tensor(std::move(shape), array<std::vector<float>>());
    }
    return all;
  }
  std::vector<std::vector<double>> arrays() {
    std::vector<std::vector<double>> all(length(1));
    for (std::vector<double>& each : all) each = array<std::vector<double>>();
    return all;
  }
  bool empty() const { return left_.empty(); }

 private:
  const char* take(std::size_t count) {
    if (count > left_.size()) refuse("ends before its last field");
    const char* const from = left_.data();
    left_.remove_prefix(count);
    return from;
  }
  std::size_t length(std::size_t element) {
    const auto count = number<std::uint64_t>();
    if (count > left_.size() / element) refuse("ends before its last field");
    return static_cast<std::size_t>(count);
  }

  std::string_view left_;
  const std::string& where_;
};

}  // namespace

std::string write_checkpoint(const Checkpoint& checkpoint) {
  const Trainer::State& state = checkpoint.state;
  for (const auto* all : {&state.weights, &state.statistics}) {
    for (const Parameter& each : *all) {
      for (const float value : each.value.data) {
        if (!std::isfinite(value))
          throw Error{ErrorCode::numerical, "the checkpoint", "contains NaN or infinity in its weights " + each.name,
                      "train again with a smaller learning rate"};
      }
    }
  }
  StateWriter writer;
  writer.array(checkpoint.record);
  writer.number(state.steps);
  writer.parameters(state.weights);
  writer.parameters(state.statistics);
  writer.number(state.moments.first_power);
  writer.number(state.moments.second_power);
  writer.arrays(state.moments.first);
  writer.arrays(state.moments.second);
  writer.number(checksum(writer.bytes));
  return std::move(writer.bytes);
}

Checkpoint read_checkpoint(std::span<const std::byte> bytes, const std::string& where) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!all.starts_with(kFormat))
    throw Error{ErrorCode::unreadable, where, "is not a checkpoint of this version of probust", "start the training over"};
  if (all.size() < kFormat.size() + sizeof(std::uint64_t))
    throw Error{ErrorCode::unreadable, where, "ends before its last field", "start the training over"};
  const std::string_view content = all.substr(0, all.size() - sizeof(std::uint64_t));
  StateReader sum(all.substr(content.size()), where);
  if (sum.number<std::uint64_t>() != checksum(content)) sum.refuse("is truncated or was changed");
  StateReader reader(content.substr(kFormat.size()), where);
  Checkpoint checkpoint;
  checkpoint.record = reader.array<std::string>();
  checkpoint.state.steps = reader.number<std::int64_t>();
  checkpoint.state.weights = reader.parameters();
  checkpoint.state.statistics = reader.parameters();
  checkpoint.state.moments.first_power = reader.number<double>();
  checkpoint.state.moments.second_power = reader.number<double>();
  checkpoint.state.moments.first = reader.arrays();
  checkpoint.state.moments.second = reader.arrays();
  if (!reader.empty()) reader.refuse("has extra data after its last field");
  return checkpoint;
}

}  // namespace probust
