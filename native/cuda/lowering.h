// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "cuda/device.h"
#include "cuda/kernels.h"
#include "probust/exec/program.h"
#include "probust/graph/graph.h"

// From a graph to kernel calls. Values are stored as [lanes][elements]: an example's elements are contiguous, because cuDNN's
// images need that. The elements are in one of two orders.
namespace probust::cuda {

/// Images [N, C, spatial...] may be stored channels-last, as convolutions need.
enum class Order : std::uint8_t { plain, channels_last };

/// The offset of each element of a value, in row-major order of the elements.
std::vector<std::int64_t> positions(const Shape& shape, Order order);

/// Memory of a value or part of one: a graph's input, a constant, or a range of the arena.
struct Storage {
  Extent extent = Extent::example;
  std::int64_t elements = 0;
  int input = -1;                   ///< which of the graph's inputs; -1 if none
  const float* constant = nullptr;  ///< on the device
};

/// One kernel call.
struct Call {
  Device& device;
  Batch batch;
  std::span<const Storage> storages;
  std::span<float* const> addresses;  ///< of the storages
  std::span<const int> reads;
  int writes;

  Operand in(std::size_t k) const {
    const Storage& storage = storages[reads[k]];
    return {addresses[reads[k]], storage.elements, batch.lanes(storage.extent)};
  }
  Output out() const { return {addresses[writes], storages[writes].elements, batch.lanes(storages[writes].extent)}; }
};

struct Step {
  std::vector<int> reads;
  int writes;
  std::function<void(const Call&)> run;
};

/// A convolution that the library computes; `images` is how many of them each lane has.
struct LibraryConvolution {
  Convolution convolution;
  std::int64_t images;
  Extent extent;
};

/// The result of lowering a graph.
struct Lowered {
  std::vector<Storage> storages;
  std::vector<Step> steps;
  std::vector<int> outputs;  ///< storages, in plain order
  std::vector<std::string> on_the_host;
  std::vector<LibraryConvolution> convolutions;
  std::map<std::string, std::vector<std::string>> slow;             ///< nodes that run by slow kernels, by the reason
  std::map<std::vector<std::int32_t>, Array<std::int32_t>> tables;  ///< offsets that kernels read
  std::vector<Array<float>> constants;
};

/// A chain of element-wise operators (kernels.h) whose operands are still values of the graph.
struct ChainPlan {
  std::vector<ValueId> operands;
  std::vector<Chain::Step> steps;
};

/// The bias and activation of a product (device.h), which absorb the graph operators after it.
struct Epilogue {
  std::vector<ValueId> operators;  ///< absorbed, in order; the product writes the value of the last
  std::vector<float> bias;
  Activation activation = Activation::none;
};

/// Lowers node by node; used by the functions of the families below.
class DeviceLowering {
 public:
  DeviceLowering(Device& device, const Graph& graph);
  Lowered finish() &&;

  Device& device;
  const Graph& graph;

  const Node& node(ValueId id) const { return graph[id]; }

  /// The order in which a value is stored.
  Order order(ValueId id) const { return placed_[id].order; }
  /// The storage that holds a value in an order: its own, or a copy made once.
  int in_order(ValueId id, Order order);
  int plain(ValueId id) { return in_order(id, Order::plain); }
  int as_it_lies(ValueId id) { return in_order(id, order(id)); }

  /// Adds a step that writes value `id`.
  void emit(ValueId id, Order order, std::vector<int> reads, std::function<void(const Call&)> run);
  /// Adds a step that writes something other than a graph value.
  int emit_extra(Extent extent, std::int64_t elements, std::vector<int> reads, std::function<void(const Call&)> run);
  /// Gives the value the storage of another one.
  void alias(ValueId id, int storage, Order order) { placed_[id] = {storage, order}; }

  /// Offsets on the device. Null if they are 0, 1, 2, ... up to `identity`: then no table is needed.
  const std::int32_t* table(const std::vector<std::int64_t>& offsets, std::int64_t identity = -1);
  const float* constant(std::span<const float> values);

  /// Converts sources of elements (exec/gather_offsets.h) to offsets in the given orders.
  static std::vector<std::int64_t> offsets(const std::vector<std::int64_t>& sources, const Shape& from, Order from_order,
                                           const Shape& to, Order to_order);

  /// Storages made once per key, such as the choices of pooling windows.
  std::map<std::vector<std::int64_t>, int> made_once;
  /// By product.
  std::map<ValueId, Epilogue> epilogues;
  /// The element-wise operator whose chain includes this one; kNoValue if none.
  std::vector<ValueId> absorbed_by;
  /// The chains of absorbed operators, which emit nothing themselves.
  std::map<ValueId, ChainPlan> pending;

  void note_on_the_host(Op op);
  void note_convolution(const LibraryConvolution& one) { lowered_.convolutions.push_back(one); }
  void note_slow(ValueId id, const std::string& reason);

 private:
  struct Placed {
    int storage = -1;
    Order order = Order::plain;
  };
  int add(Storage storage);
  int placed_storage(ValueId id);

  std::vector<ValueId> done_by_;  // the product whose epilogue includes an operator; kNoValue if none
  std::vector<Placed> placed_;
  std::map<std::tuple<int, Order, Shape>, int> moved_;  // copies of storages in another order; reshapes share a storage
  Lowered lowered_;
};

/// The operator's lowering function, which throws Error{unsupported} for unsupported cases.
using Lower = void (*)(DeviceLowering&, ValueId);
Lower lower_function(Op op);

// One file per family, named like those of the operators.
void lower_matmul(DeviceLowering&, ValueId);
void lower_conv(DeviceLowering&, ValueId);
void lower_pool(DeviceLowering&, ValueId);
void lower_elementwise(DeviceLowering&, ValueId);
void lower_move(DeviceLowering&, ValueId);
void lower_concat(DeviceLowering&, ValueId);
void lower_sum(DeviceLowering&, ValueId);
void lower_lines(DeviceLowering&, ValueId);
/// Evaluates an operator without a kernel on the host, by its reference implementation.
void lower_on_the_host(DeviceLowering&, ValueId);

/// The products that have an epilogue.
std::map<ValueId, Epilogue> plan_epilogues(const Graph& graph);
/// The operator that absorbs each element-wise one (except those in epilogues) into its chain: [nodes], kNoValue if none.
std::vector<ValueId> plan_chains(const Graph& graph, const std::map<ValueId, Epilogue>& epilogues);

}  // namespace probust::cuda
