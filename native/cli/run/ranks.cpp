// SPDX-License-Identifier: MIT
#include "cli/run/ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "cli/messages.h"
#include "datasets/json.h"
#include "probust/base/error.h"
#include "probust/run/fields.h"

namespace probust::cli {
namespace {

Document document_of(std::span<const std::byte> bytes) {
  std::optional<Document> document = datasets::parse_cbor(bytes);
  return document ? *std::move(document) : throw std::out_of_range("not CBOR");
}

void receive(const Document& value, std::int64_t& field) { field = value.as<std::int64_t>(); }
void receive(const Document& value, double& field) { field = value.as_number(); }
void receive(const Document& value, float& field) { field = static_cast<float>(value.as_number()); }
void receive(const Document& value, bool& field) { field = value.as<bool>(); }
void receive(const Document& value, std::string& field) { field = value.as<std::string>(); }
void receive(const Document& value, Status& field) { field = status_of(value.as<std::string>()).value(); }
void receive(const Document& value, MethodField<Row>& field) { field.set(value.as<std::string>()); }
template <class T>
T received(const Document& value) {
  T field{};
  receive(value, field);
  return field;
}
template <class T>
void receive(const Document& value, std::optional<T>& field) {
  field = value.is_null() ? std::nullopt : std::optional(received<T>(value));
}
template <class T>
void receive(const Document& value, std::vector<T>& field) {
  field.clear();
  for (const Document& item : value.as<Document::List>()) field.push_back(received<T>(item));
}

template <class T>
Document sent(const T& field) {
  return field;
}
Document sent(Status field) { return word(field); }
Document sent(const MethodField<const Row>& field) { return field.text(); }

Document describe(const Row& row) {
  Document::List message{row.estimate.model_samples, row.estimate.survivors};  // these two have no columns
  for_each_field(row, [&](Column, const auto& field) { message.push_back(sent(field)); });
  return message;
}

Row row_of(const Document& message) {
  Row row{};
  receive(message.at(0), row.estimate.model_samples);
  receive(message.at(1), row.estimate.survivors);
  std::size_t next = 2;
  for_each_field(row, [&](Column, auto&& field) { receive(message.at(next++), field); });
  return row;
}

Document describe(const PointRecord& point) {
  return Document::List{point.model, point.index, point.label, point.predicted, point.logits};
}

PointRecord point_of(const Document& message) {
  PointRecord point;
  receive(message.at(0), point.model);
  receive(message.at(1), point.index);
  receive(message.at(2), point.label);
  receive(message.at(3), point.predicted);
  receive(message.at(4), point.logits);
  return point;
}

Document describe(const SkippedPoint& point) { return Document::List{point.model, point.index, point.reason}; }

SkippedPoint skipped_of(const Document& message) {
  SkippedPoint point;
  receive(message.at(0), point.model);
  receive(message.at(1), point.index);
  receive(message.at(2), point.reason);
  return point;
}

template <class T>
Document list_of(const std::vector<T>& items) {
  return Document::list(items, [](const T& item) { return describe(item); });
}

Document describe(const Results& results) {
  return Document::Object{
      {"rows", list_of(results.rows)}, {"points", list_of(results.points)}, {"skipped", list_of(results.skipped)}};
}

Results results_of(const Document& message) {
  Results results;
  for (const Document& row : message.at("rows").as<Document::List>()) results.rows.push_back(row_of(row));
  for (const Document& point : message.at("points").as<Document::List>()) results.points.push_back(point_of(point));
  for (const Document& point : message.at("skipped").as<Document::List>()) results.skipped.push_back(skipped_of(point));
  return results;
}

Document describe(const Assignment& assignment) {
  return Document::Object{{"model", assignment.block.model},
                          {"first", assignment.block.first},
                          {"count", assignment.block.count},
                          {"wanted", assignment.wanted}};
}

// Sleeps, so that a waiting rank leaves the processor to working ranks.
void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

}  // namespace

std::vector<std::byte> packed(const Results& results) { return datasets::to_cbor(describe(results)); }

Results unpacked(std::span<const std::byte> bytes) {
  try {
    return results_of(document_of(bytes));
  } catch (const std::out_of_range& error) {
    throw Error{ErrorCode::internal, "a rank of mpirun", std::string("sent an unexpected message: ") + error.what(), ""};
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
    if (document_of(message.bytes).at("round").as<std::int64_t>() == round_) {
      answer(message.from, message.bytes);
    } else {
      ranks_.early.push_back(std::move(message));
    }
  } catch (...) {  // results could not be written; the other ranks are told when they send their next request
    failure_ = std::current_exception();
    ledger_.close();
    stop_ = true;
  }
}

// Answers a request. It contains the round and one of: "next", the number of points that the rank wants; "ends": true; or
// "rows", "points" and "skipped", the results of the block that was assigned to the rank.
void RankServer::answer(int rank, const std::vector<std::byte>& bytes) {
  const Document request = document_of(bytes);
  if (request.find("next") != nullptr) {
    const std::optional<Assignment> next = ledger_.next(request.at("next").as<std::int64_t>());
    ranks_.cluster.send(rank, datasets::to_cbor(next ? describe(*next) : Document()));
    if (next) {
      working_[rank] = *next;
    } else {
      ++told_;
      if (round_ == ranks_.rounds - 1) ranks_.done.insert(rank);
    }
  } else if (request.find("ends") != nullptr) {
    ranks_.gone.insert(rank);
    say("probust: rank {} has ended; other ranks estimate its points\n", rank);
    if (auto work = working_.extract(rank)) ledger_.give_back(std::move(work.mapped()));
  } else {
    const auto work = working_.extract(rank);
    if (!work) throw Error{ErrorCode::internal, fmt::format("rank {} of mpirun", rank), "sent unexpected results", ""};
    ledger_.deliver(work.mapped(), results_of(request));
  }
}

void dismiss(Ranks& ranks) {
  const auto answer = [&](const cluster::Message& message) {
    const Document request = document_of(message.bytes);
    if (request.find("ends") != nullptr) ranks.gone.insert(message.from);
    if (request.find("next") == nullptr) return;
    ranks.cluster.send(message.from, datasets::to_cbor(Document::Object{{"dismissed", true}}));
    ranks.done.insert(message.from);
  };
  for (const cluster::Message& message : std::exchange(ranks.early, {})) answer(message);
  while (std::ssize(ranks.gone) + std::ssize(ranks.done) < ranks.cluster.size() - 1) {
    cluster::Message message;
    ranks.cluster.receive(message) ? answer(message) : pause();
  }
}

RemoteAssignments::~RemoteAssignments() {
  if (!ended_) cluster_.send(0, datasets::to_cbor(Document::Object{{"ends", true}, {"round", round_}}));
}

std::optional<Assignment> RemoteAssignments::next(std::int64_t count) {
  cluster_.send(0, datasets::to_cbor(Document::Object{{"next", count}, {"round", round_}}));
  cluster::Message message;
  while (!cluster_.receive(message)) pause();
  const Document reply = document_of(message.bytes);
  dismissed_ = reply.find("dismissed") != nullptr;
  ended_ = reply.is_null() || dismissed_;
  if (ended_) return std::nullopt;
  Assignment assignment;
  receive(reply.at("model"), assignment.block.model);
  receive(reply.at("first"), assignment.block.first);
  receive(reply.at("count"), assignment.block.count);
  receive(reply.at("wanted"), assignment.wanted);
  return assignment;
}

void RemoteAssignments::deliver(const Assignment&, Results results) {
  Document message = describe(results);
  message["round"] = round_;
  cluster_.send(0, datasets::to_cbor(message));
}

}  // namespace probust::cli
