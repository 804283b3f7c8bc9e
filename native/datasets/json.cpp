// SPDX-License-Identifier: MIT
#include "datasets/json.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace probust::datasets {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Document& document);

struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const Document::List& list) const {
    Json json = Json::array();
    for (const Document& item : list) json.push_back(json_of(item));
    return json;
  }
  Json operator()(const Document::Object& object) const {
    Json json = Json::object();
    for (const auto& [name, value] : object) json[name] = json_of(value);
    return json;
  }
  template <typename T>
  Json operator()(const T& value) const {
    return value;
  }
};

Json json_of(const Document& document) { return document.visit(ToJson{}); }

// Builds a document from the parser's events. An object may contain a key several times.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return value(nullptr); }
  bool boolean(bool given) override { return value(given); }
  bool number_integer(number_integer_t given) override { return value(given); }
  bool number_unsigned(number_unsigned_t given) override {
    if (given > std::numeric_limits<std::int64_t>::max()) return value(static_cast<double>(given));
    return value(given);
  }
  bool number_float(number_float_t given, const string_t&) override { return value(given); }
  bool string(string_t& given) override { return value(given); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Document::object()); }
  bool key(string_t& given) override {
    keys_.push_back(std::move(given));
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Document::List{}); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  Document root;

 private:
  bool value(Document given) {
    if (open_.empty()) {
      root = std::move(given);
    } else if (open_.back().get_if<Document::List>() != nullptr) {
      open_.back().push_back(std::move(given));
    } else {
      open_.back().add(std::move(keys_.back()), std::move(given));
      keys_.pop_back();
    }
    return true;
  }
  bool open(Document empty) {
    open_.push_back(std::move(empty));
    return true;
  }
  bool close() {
    Document whole = std::move(open_.back());
    open_.pop_back();
    return value(std::move(whole));
  }

  std::vector<Document> open_;
  std::vector<std::string> keys_;
};

template <typename Bytes>
std::optional<Document> parse(const Bytes& bytes, Json::input_format_t format) {
  Builder builder;
  if (!Json::sax_parse(bytes.begin(), bytes.end(), &builder, format)) return {};
  return std::move(builder.root);
}

}  // namespace

std::string json_text(const Document& document, int indent) {
  return json_of(document).dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::optional<Document> parse_json(std::string_view text) { return parse(text, Json::input_format_t::json); }

std::vector<std::byte> to_cbor(const Document& document) {
  const std::vector<std::uint8_t> cbor = Json::to_cbor(json_of(document));
  const auto* first = reinterpret_cast<const std::byte*>(cbor.data());
  return {first, first + cbor.size()};
}

std::optional<Document> parse_cbor(std::span<const std::byte> bytes) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return parse(std::span(first, bytes.size()), Json::input_format_t::cbor);
}

}  // namespace probust::datasets
