// SPDX-License-Identifier: MIT
#include "datasets/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace probust::datasets {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Json, WritesEveryTypeInOrder) {
  const Document document = Document::Object{{"none", nullptr},
                                             {"yes", true},
                                             {"whole", std::size_t{3}},
                                             {"real", 0.1},
                                             {"two", 2.0},
                                             {"text", "a\"b"},
                                             {"list", std::vector<double>{1, 2.5}},
                                             {"missing", std::optional<int>()},
                                             {"object", Document::object()}};
  EXPECT_EQ(
      json_text(document),
      R"({"none":null,"yes":true,"whole":3,"real":0.1,"two":2.0,"text":"a\"b","list":[1.0,2.5],"missing":null,"object":{}})");
}

TEST(Json, WritesUnrepresentableValuesAsNullOrReplaced) {
  EXPECT_EQ(json_text(Document::List{kNan, std::numeric_limits<double>::infinity()}), "[null,null]");
  EXPECT_EQ(json_text("caf\xe9"), "\"caf\xef\xbf\xbd\"");
}

TEST(Json, ReadsWhatItWrites) {
  const std::string text = R"({"a":[1,-2,0.25,true,null,"x"],"b":{"c":[[],{}]}})";
  EXPECT_EQ(json_text(parse_json(text).value()), text);
}

TEST(Json, KeepsRepeatedKeys) {
  const Document document = parse_json(R"({"a": 1, "a": 2})").value();
  EXPECT_EQ(document.as<Document::Object>().size(), 2U);
  EXPECT_EQ(document.at("a").as<std::int64_t>(), 1);
}

TEST(Json, ReadsWholeNumbersBeyond64BitsAsReal) {
  EXPECT_EQ(parse_json("18446744073709551615").value().number(), 18446744073709551615.0);
}

TEST(Json, RejectsInvalidJson) {
  for (const char* text : {"", "{", "[1,]", "nan", "{\"a\"}", "1 2"}) EXPECT_FALSE(parse_json(text)) << text;
}

TEST(Json, CborKeepsBits) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  const std::vector<std::byte> bytes = to_cbor(Document::List{0.1, tiny, kNan, -0.0, "caf\xe9", false});
  const Document read = parse_cbor(bytes).value();
  EXPECT_EQ(read.at(0).as_number(), 0.1);
  EXPECT_EQ(read.at(1).as_number(), tiny);
  EXPECT_TRUE(std::isnan(read.at(2).as_number()));
  EXPECT_TRUE(std::signbit(read.at(3).as_number()));
  EXPECT_EQ(read.at(4).as<std::string>(), "caf\xe9");
  EXPECT_FALSE(read.at(5).as<bool>());
  EXPECT_FALSE(parse_cbor(std::span(bytes).first(3)));
}

TEST(Document, NamesTheMissingPart) {
  const Document document = Document::Object{{"a", 1}};
  EXPECT_THROW(document.at("b"), std::out_of_range);
  EXPECT_THROW(document.at("a").as<std::string>(), std::out_of_range);
  EXPECT_THROW(document.at("a").at(0), std::out_of_range);
  EXPECT_EQ(document.find("b"), nullptr);
}

}  // namespace
}  // namespace probust::datasets
