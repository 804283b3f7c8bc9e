// SPDX-License-Identifier: MIT
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

// Runs the command line as a user's shell would, in its own folder.
namespace probust::test {

struct Finished {
  int status;  ///< exit status; 128 + N if signal N ended it
  std::string out, err;
};

/// A temporary folder, removed at the end of the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "probust-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// `probust ARGUMENTS`, split by the shell.
inline Finished probust(const std::string& arguments, const std::string& input = {}) {
  const Folder folder;
  const std::string in = folder.write("in", input);
  const std::string command =
      std::string(PROBUST_PROGRAM) + " " + arguments + " <'" + in + "' >'" + folder / "out" + "' 2>'" + folder / "err" + "'";
  const int raw = std::system(command.c_str());
  const int status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  return {status, read_whole(folder / "out"), read_whole(folder / "err")};
}

inline bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline std::string digits(const std::string& file) { return std::string(PROBUST_SOURCE_DIR) + "/demos/digits/" + file; }

/// MODEL and DATA of the digits.
inline const std::string kDigits = "'" + digits("digits.onnx") + "' '" + digits("points.npz") + "'";

/// Rows of jsonl output.
inline std::vector<nlohmann::json> rows(const std::string& text) {
  std::vector<nlohmann::json> result;
  for (const std::string& line : lines_of(text)) result.push_back(nlohmann::json::parse(line));
  return result;
}

}  // namespace probust::test
