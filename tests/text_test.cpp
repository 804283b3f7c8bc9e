// SPDX-License-Identifier: MIT
#include "probust/base/text.h"

#include <gtest/gtest.h>

#include <string>

#include "probust/base/error.h"

namespace probust {
namespace {

TEST(Text, PrintableTextIsUnchanged) {
  for (const char* text :
       {"", "conv1/Conv:0", "a b\\n", "\xc3\xa4", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80", "\xc2\xa0", "\xef\xbf\xbd"})
    EXPECT_EQ(printable(text), text);
}

TEST(Text, ControlsAndInvalidUtf8AreEscaped) {
  struct Row {
    std::string raw, shown;
  };
  for (const auto& [raw, shown] : {
           Row{"a\x1b[31mb", "a\\x1b[31mb"},
           Row{"\t\r\n", "\\x09\\x0d\\x0a"},
           Row{std::string(1, '\0'), "\\x00"},
           Row{"\x7f", "\\x7f"},
           Row{"\xc2\x9b", "\\u009b"},                       // C1's CSI
           Row{"\x9b", "\\x9b"},                             // the same character as a byte
           Row{"\xe2\x80\xae", "\\u202e"},                   // right-to-left override
           Row{"\xe2\x80\xa8", "\\u2028"},                   // line separator
           Row{"\xc0\x8a", "\\xc0\\x8a"},                    // overlong newline
           Row{"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // surrogate
           Row{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond Unicode
           Row{"\xe6\xbc", "\\xe6\\xbc"},                    // truncated
           Row{"\xe6z", "\\xe6z"},
       }) {
    EXPECT_EQ(printable(raw), shown);
    EXPECT_EQ(printable(shown), shown);
  }
}

TEST(Text, AnErrorIsOnePrintableLine) {
  const Error error{ErrorCode::unreadable, "a\nb", "is \x1b[1mbad\xff", ""};
  EXPECT_EQ(error.message(), "a\\x0ab is \\x1b[1mbad\\xff");
}

}  // namespace
}  // namespace probust
