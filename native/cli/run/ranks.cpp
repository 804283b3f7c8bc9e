// SPDX-License-Identifier: MIT
#include "cli/run/ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "cli/messages.h"
#include "probust/base/error.h"
#include "probust/run/fields.h"

namespace probust::cli {
namespace {

using Json = nlohmann::json;

// CBOR keeps the bits of numbers, NaN included.
std::vector<std::byte> bytes_of(const Json& message) {
  const std::vector<std::uint8_t> cbor = Json::to_cbor(message);
  const auto* first = reinterpret_cast<const std::byte*>(cbor.data());
  return {first, first + cbor.size()};
}

Json json_of(std::span<const std::byte> bytes) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return Json::from_cbor(first, first + bytes.size());
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <class T>
std::optional<T> optional(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

template <class T>
Json sent(const T& field) {
  return field;
}
template <class T>
Json sent(const std::optional<T>& field) {
  return or_null(field);
}
Json sent(Status field) { return word(field); }
Json sent(const MethodField<const Row>& field) { return field.text(); }

template <class T>
void receive(const Json& value, T& field) {
  field = value.get<T>();
}
template <class T>
void receive(const Json& value, std::optional<T>& field) {
  field = optional<T>(value);
}
void receive(const Json& value, Status& field) { field = status_of(value.get<std::string>()).value(); }
void receive(const Json& value, MethodField<Row>& field) { field.set(value.get<std::string>()); }

Json json_of(const Row& row) {
  Json message = Json::array({row.estimate.copies, row.estimate.kept});  // are no columns
  for_each_field(row, [&](Column, const auto& field) { message.push_back(sent(field)); });
  return message;
}

Row row_of(const Json& message) {
  Row row{};
  row.estimate.copies = message.at(0);
  row.estimate.kept = message.at(1);
  std::size_t next = 2;
  for_each_field(row, [&](Column, auto&& field) { receive(message.at(next++), field); });
  return row;
}

Json json_of(const PointRecord& point) { return {point.model, point.index, or_null(point.label), point.predicted, point.logits}; }

PointRecord point_of(const Json& a) {
  return {a.at(0), a.at(1), optional<std::int64_t>(a.at(2)), a.at(3), a.at(4).get<std::vector<float>>()};
}

Json json_of(const SkippedPoint& point) { return {point.model, point.index, point.reason}; }

Json json_of(const Results& results) {
  Json rows = Json::array(), points = Json::array(), skipped = Json::array();
  for (const Row& row : results.rows) rows.push_back(json_of(row));
  for (const PointRecord& point : results.points) points.push_back(json_of(point));
  for (const SkippedPoint& point : results.skipped) skipped.push_back(json_of(point));
  return {{"rows", rows}, {"points", points}, {"skipped", skipped}};
}

Results results_of(const Json& message) {
  Results results;
  for (const Json& row : message.at("rows")) results.rows.push_back(row_of(row));
  for (const Json& point : message.at("points")) results.points.push_back(point_of(point));
  for (const Json& point : message.at("skipped")) results.skipped.push_back({point.at(0), point.at(1), point.at(2)});
  return results;
}

Json json_of(const Assignment& assignment) {
  return {{"model", assignment.block.model},
          {"first", assignment.block.first},
          {"count", assignment.block.count},
          {"wanted", assignment.wanted}};
}

// Waiting ranks leave the processor to those that work.
void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

}  // namespace

std::vector<std::byte> packed(const Results& results) { return bytes_of(json_of(results)); }

Results unpacked(std::span<const std::byte> bytes) {
  try {
    return results_of(json_of(bytes));
  } catch (const Json::exception& error) {
    throw Error{ErrorCode::internal, "mpirun", std::string("a rank sent something else: ") + error.what(), ""};
  }
}

RankServer::RankServer(Ranks& ranks, Ledger& ledger, int round, StopToken& stop)
    : ranks_(ranks), ledger_(ledger), round_(round), stop_(stop), thread_([this] { serve(); }) {}

RankServer::~RankServer() {
  ledger_.close();
  if (thread_.joinable()) thread_.join();
}

void RankServer::finish() {
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
}

void RankServer::serve() {
  for (cluster::Message& message : std::exchange(ranks_.early, {})) take(std::move(message));
  while (told_ + std::ssize(ranks_.gone) < ranks_.cluster.size() - 1) {
    if (stop_) ledger_.close();
    cluster::Message message;
    if (ranks_.cluster.receive(message)) {
      take(std::move(message));
    } else {
      pause();
    }
  }
}

void RankServer::take(cluster::Message message) {
  try {
    if (json_of(message.bytes).at("round") == round_) {
      answer(message.from, message.bytes);
    } else {
      ranks_.early.push_back(std::move(message));
    }
  } catch (...) {  // writing failed; the other ranks are told when they ask
    failure_ = std::current_exception();
    ledger_.close();
    stop_ = true;
  }
}

// A request has the round, and "next": count, or "ends": true, or "rows", "points" and "skipped" of the block that the rank works
// on.
void RankServer::answer(int rank, const std::vector<std::byte>& bytes) {
  const Json request = json_of(bytes);
  if (request.contains("next")) {
    const std::optional<Assignment> next = ledger_.next(request.at("next"));
    ranks_.cluster.send(rank, bytes_of(next ? json_of(*next) : Json(nullptr)));
    if (next) {
      working_[rank] = *next;
    } else {
      ++told_;
      if (round_ == ranks_.rounds - 1) ranks_.done.insert(rank);
    }
  } else if (request.contains("ends")) {
    ranks_.gone.insert(rank);
    say("probust: rank {} has ended; other ranks estimate its points\n", rank);
    if (auto work = working_.extract(rank)) ledger_.give_back(std::move(work.mapped()));
  } else {
    const auto work = working_.extract(rank);
    if (!work) throw Error{ErrorCode::internal, "mpirun", fmt::format("rank {} sent results that were not asked for", rank), ""};
    ledger_.deliver(work.mapped(), results_of(request));
  }
}

void dismiss(Ranks& ranks) {
  const auto answer = [&](const cluster::Message& message) {
    const Json request = json_of(message.bytes);
    if (request.contains("ends")) ranks.gone.insert(message.from);
    if (!request.contains("next")) return;
    ranks.cluster.send(message.from, bytes_of({{"dismissed", true}}));
    ranks.done.insert(message.from);
  };
  for (const cluster::Message& message : std::exchange(ranks.early, {})) answer(message);
  while (std::ssize(ranks.gone) + std::ssize(ranks.done) < ranks.cluster.size() - 1) {
    cluster::Message message;
    ranks.cluster.receive(message) ? answer(message) : pause();
  }
}

RemoteAssignments::~RemoteAssignments() {
  if (!ended_) cluster_.send(0, bytes_of({{"ends", true}, {"round", round_}}));
}

std::optional<Assignment> RemoteAssignments::next(std::int64_t count) {
  cluster_.send(0, bytes_of({{"next", count}, {"round", round_}}));
  cluster::Message message;
  while (!cluster_.receive(message)) pause();
  const Json reply = json_of(message.bytes);
  dismissed_ = reply.contains("dismissed");
  ended_ = reply.is_null() || dismissed_;
  if (ended_) return std::nullopt;
  return Assignment{{reply.at("model"), reply.at("first"), reply.at("count")}, reply.at("wanted").get<std::vector<bool>>()};
}

void RemoteAssignments::deliver(const Assignment&, Results results) {
  Json message = json_of(results);
  message["round"] = round_;
  cluster_.send(0, bytes_of(message));
}

}  // namespace probust::cli
