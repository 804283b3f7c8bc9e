// SPDX-License-Identifier: MIT
#include "cli/ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "cli/messages.h"
#include "probust/base/error.h"

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

Json json_of(const Row& row) {
  const Estimate& e = row.estimate;
  return {row.model,
          row.index,
          or_null(row.label),
          row.predicted,
          row.target,
          row.noise,
          or_null(row.sigma),
          row.estimator,
          e.p,
          e.p_fail,
          or_null(e.std_error),
          or_null(e.ci_low),
          or_null(e.ci_high),
          e.forwards,
          e.backwards,
          e.copies,
          e.kept,
          static_cast<int>(e.status),
          e.method ? Json(e.method->text()) : Json(nullptr),
          e.note,
          e.classes,
          or_null(e.p_label),
          or_null(e.p_label_low),
          or_null(e.p_label_high)};
}

Row row_of(const Json& a) {
  Row row{.index = a.at(1),
          .label = optional<std::int64_t>(a.at(2)),
          .predicted = a.at(3),
          .target = a.at(4),
          .noise = a.at(5),
          .sigma = optional<double>(a.at(6)),
          .estimator = a.at(7),
          .estimate = {},
          .model = a.at(0)};
  Estimate& e = row.estimate;
  e.p = a.at(8);
  e.p_fail = a.at(9);
  e.std_error = optional<double>(a.at(10));
  e.ci_low = optional<double>(a.at(11));
  e.ci_high = optional<double>(a.at(12));
  e.forwards = a.at(13);
  e.backwards = a.at(14);
  e.copies = a.at(15);
  e.kept = a.at(16);
  e.status = static_cast<Status>(a.at(17).get<int>());
  if (!a.at(18).is_null()) e.method = parse_estimator(a.at(18).get<std::string>());
  e.note = a.at(19);
  e.classes = a.at(20).get<std::vector<double>>();
  e.p_label = optional<double>(a.at(21));
  e.p_label_low = optional<double>(a.at(22));
  e.p_label_high = optional<double>(a.at(23));
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
