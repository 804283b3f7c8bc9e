// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace probust::test {

/// The first error in the tags and entities of an XML element; empty if there is none: tags must be balanced, attributes quoted
/// and unique, and every & the start of an entity.
inline std::string xml_problem(const std::string& text) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '&' && text.find(';', at) > at + 6) return "an & that is no entity at " + std::to_string(at);
    if (text[at] == '>') return "a > at " + std::to_string(at);
    if (text[at] != '<') {
      if (open.empty() && text[at] != '\n') return "text outside of the element at " + std::to_string(at);
      continue;
    }
    std::size_t end = at + 1;
    char quote = 0;
    std::vector<std::string> attributes;
    for (; end < text.size() && (quote != 0 || text[end] != '>'); ++end) {
      if (text[end] == '<') return "a < inside of a tag at " + std::to_string(end);
      if (quote != 0) {
        if (text[end] == quote) quote = 0;
      } else if (text[end] == '"' || text[end] == '\'') {
        quote = text[end];
        const std::size_t name = text.rfind(' ', end) + 1;
        for (const std::string& known : attributes) {
          if (known == text.substr(name, end - name)) return "an attribute twice at " + std::to_string(end);
        }
        attributes.push_back(text.substr(name, end - name));
      }
    }
    if (end == text.size()) return "a tag without an end";
    const std::string tag = text.substr(at + 1, end - at - 1), name = tag.substr(0, tag.find_first_of(" /\n", 1));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "</" + tag.substr(1) + "> closes nothing";
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

inline std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace probust::test
