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

// From a graph to kernel calls. Values lie as [lanes][elements]: an example's elements together, for that is what cuDNN's images
// need; among themselves, in one of two orders.
namespace probust::cuda {

/// Images [N, C, spatial...] may lie with their channels last, as convolutions want them.
enum class Order : std::uint8_t { plain, channels_last };

/// Where each element of a value lies, in row-major order of the elements.
std::vector<std::int64_t> positions(const Shape& shape, Order order);

/// Memory that a value, or a part of one, lives in: a graph's input, a constant, or a stretch of the arena.
struct Storage {
  Extent extent = Extent::example;
  std::int64_t elements = 0;
  int input = -1;                   ///< which of the graph's inputs; -1 where none
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

/// What a graph is lowered to.
struct Lowered {
  std::vector<Storage> storages;
  std::vector<Step> steps;
  std::vector<int> outputs;  ///< storages, in plain order
  std::vector<std::string> on_the_host;
  std::map<std::vector<std::int32_t>, Array<std::int32_t>> tables;  ///< offsets that kernels read
  std::vector<Array<float>> constants;
};

/// A chain of element-wise operators (kernels.h), its operands still values of the graph.
struct ChainPlan {
  std::vector<ValueId> operands;
  std::vector<Chain::Step> steps;
};

/// What a product does to its result (device.h), so that the graph's next operators are done with it.
struct Epilogue {
  std::vector<ValueId> operators;  ///< that it does, in order; the last one's value is what it writes
  std::vector<float> bias;
  Activation activation = Activation::none;
};

/// Lowers node by node; the families' functions below see it.
class Lowering {
 public:
  Lowering(Device& device, const Graph& graph);
  Lowered finish() &&;

  Device& device;
  const Graph& graph;

  const Node& node(ValueId id) const { return graph[id]; }

  /// In which order a value lies.
  Order order(ValueId id) const { return placed_[id].order; }
  /// The storage that holds a value in an order: where it lies, or a copy that is made once.
  int in_order(ValueId id, Order order);
  int plain(ValueId id) { return in_order(id, Order::plain); }
  int as_it_lies(ValueId id) { return in_order(id, order(id)); }

  /// Adds a step that writes value `id`.
  void emit(ValueId id, Order order, std::vector<int> reads, std::function<void(const Call&)> run);
  /// Adds a step that writes something beside the graph's values.
  int emit_extra(Extent extent, std::int64_t elements, std::vector<int> reads, std::function<void(const Call&)> run);
  /// The value lies where another one does.
  void alias(ValueId id, int storage, Order order) { placed_[id] = {storage, order}; }

  /// Offsets on the device. Null for 0, 1, 2, ... up to `identity`, which means that no table is needed.
  const std::int32_t* table(const std::vector<std::int64_t>& offsets, std::int64_t identity = -1);
  const float* constant(std::span<const float> values);

  /// For sources of elements (exec/sources.h): the same in terms of where they lie.
  static std::vector<std::int64_t> offsets(const std::vector<std::int64_t>& sources, const Shape& from, Order from_order,
                                           const Shape& to, Order to_order);

  /// What was made once for a key, as windows' choices are.
  std::map<std::vector<std::int64_t>, int> made_once;
  /// Of products.
  std::map<ValueId, Epilogue> epilogues;
  /// The element-wise operator that takes this one into its chain; kNoValue where none does.
  std::vector<ValueId> absorbed_by;
  /// The chains of operators that were taken in, which emit nothing by themselves.
  std::map<ValueId, ChainPlan> pending;

  void note_on_the_host(Op op);

 private:
  struct Placed {
    int storage = -1;
    Order order = Order::plain;
  };
  int add(Storage storage);
  int placed_storage(ValueId id);

  std::vector<ValueId> done_by_;  // the product whose epilogue an operator is part of; kNoValue where none is
  std::vector<Placed> placed_;
  std::map<std::tuple<int, Order, Shape>, int> moved_;  // copies of storages in another order; reshapes share a storage
  Lowered lowered_;
};

/// The operator's function; what it cannot do it throws as Error{unsupported}.
using Lower = void (*)(Lowering&, ValueId);
Lower lower_function(Op op);

// One file per family, named like the operators'.
void lower_matmul(Lowering&, ValueId);
void lower_conv(Lowering&, ValueId);
void lower_pool(Lowering&, ValueId);
void lower_elementwise(Lowering&, ValueId);
void lower_move(Lowering&, ValueId);
void lower_concat(Lowering&, ValueId);
void lower_sum(Lowering&, ValueId);
void lower_lines(Lowering&, ValueId);
/// The operator's reference evaluation on the host's processor, for what has no kernel.
void lower_on_the_host(Lowering&, ValueId);

/// The products that end with more than their sums.
std::map<ValueId, Epilogue> plan_epilogues(const Graph& graph);
/// Which element-wise operators, but for those of epilogues, a later one takes into its chain: [nodes], kNoValue where none does.
std::vector<ValueId> plan_chains(const Graph& graph, const std::map<ValueId, Epilogue>& epilogues);

}  // namespace probust::cuda
