// SPDX-License-Identifier: MIT
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <vector>

// Checks the project's HTML for errors that a browser would have to repair, and for resources that it would load.
namespace probust::test {

/// The tags of a page, as "table" and "/table", with everything between a quoted attribute's quotes skipped.
inline std::vector<std::string> tags_of(const std::string& html) {
  std::vector<std::string> tags;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at)) {
    std::size_t end = at + 1;
    for (char quote = 0; end < html.size() && (quote != 0 || html[end] != '>'); ++end) {
      if (quote == 0 && (html[end] == '"' || html[end] == '\'')) {
        quote = html[end];
      } else if (html[end] == quote) {
        quote = 0;
      }
    }
    std::size_t name = at + 1;
    while (name < end && (std::isalnum(static_cast<unsigned char>(html[name])) != 0 || html[name] == '/' || html[name] == '!'))
      ++name;
    std::string tag = html.substr(at + 1, name - at - 1);
    if (html[end - 1] == '/') tag += '/';
    tags.push_back(tag);
    at = end;
  }
  return tags;
}

/// The error in the nesting of a page's elements; empty if there is none.
inline std::string misnested(const std::string& html) {
  const std::set<std::string> empty{"meta", "img", "br", "hr", "link", "input"};
  std::vector<std::string> open;
  for (const std::string& tag : tags_of(html)) {
    if (tag.empty() || tag.front() == '!' || tag.back() == '/' || empty.contains(tag)) continue;
    if (tag.front() != '/') {
      open.push_back(tag);
    } else if (open.empty() || "/" + open.back() != tag) {
      return tag + (open.empty() ? " ends nothing" : " ends " + open.back());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " does not end";
}

/// The parts of a page that would load something or run a script; empty if there are none.
inline std::string foreign_parts(std::string html) {
  const std::string name = "xmlns=\"http://www.w3.org/2000/svg\"";  // a name, not an address
  for (std::size_t at = html.find(name); at != std::string::npos; at = html.find(name)) html.erase(at, name.size());
  for (const std::string part : {"http:", "https:", "url(", "@import", "<script", "<link", "<iframe", "<object", "javascript:"}) {
    const std::size_t at = html.find(part);
    if (at != std::string::npos) return html.substr(at, 60);
  }
  for (const std::string attribute : {"src=\"", "href=\"", "src='", "href='", "srcset="}) {
    for (std::size_t at = html.find(attribute); at != std::string::npos; at = html.find(attribute, at + 1)) {
      const std::string value = html.substr(at + attribute.size(), 5);
      if (value.front() != '#' && value != "data:") return html.substr(at, 60);
    }
  }
  return "";
}

}  // namespace probust::test
