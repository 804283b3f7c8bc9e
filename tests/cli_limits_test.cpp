// SPDX-License-Identifier: MIT
// The command line at its limits: an estimator that does not support a model, memory, and time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <tuple>

#include "datasets/npy.h"
#include "support/architectures.h"
#include "support/command.h"
#include "support/evaluate.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

using nlohmann::json;
using test::digits;
using test::Finished;
using test::Folder;
using test::lines_of;
using test::rows;

Tensor random_points(const Shape& shape) {
  std::mt19937 random(1);
  return test::random_tensor(shape, random);
}

// ---- one estimator's failure

// Moments cannot be propagated through x^x, because its exponent is noisy, too.
class NoMoments : public testing::Test {
 protected:
  NoMoments() {
    std::mt19937 random(2);
    test::OnnxBuilder builder;
    builder.input("x", {-1, 3})
        .weight("two", Tensor({1}, {2}))
        .weight("w", test::random_tensor({3, 3}, random))
        .node("Add", {"x", "two"}, {"a"})
        .node("Pow", {"a", "a"}, {"b"})
        .node("MatMul", {"b", "w"}, {"y"})
        .output("y", {-1, 3});
    folder_.write("m.onnx", builder.bytes());
    write_npy(folder_ / "x.npy", random_points({5, 3}));
  }

  Finished estimate(const std::string& estimators, const std::string& options = {}) const {
    return test::probust("estimate '" + folder_ / "m.onnx" + "' '" + folder_ / "x.npy" + "' --sigma 0.1,0.2 --estimator " +
                         estimators + " " + options);
  }

  Folder folder_;
};

TEST_F(NoMoments, AnUnsupportedEstimatorHasRowsWithTheReason) {
  const Finished both = estimate("mc:8,adf,taylor"), counted = estimate("mc:8"), linear = estimate("taylor");
  EXPECT_EQ(both.status, 0);
  EXPECT_EQ(lines_of(both.err).size(), 2U) << both.err;  // one line is the decision rule
  EXPECT_NE(both.err.find("adf cannot be used: operator power"), std::string::npos) << both.err;
  EXPECT_EQ(estimate("mc:8,adf,taylor", "--quiet").err, "");
  const std::vector<json> all = rows(both.out), mc = rows(counted.out), taylor = rows(linear.out);
  ASSERT_EQ(all.size(), 30U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(all[3 * i], mc[i]);
    EXPECT_EQ(all[3 * i + 1]["estimator"], "adf");
    EXPECT_EQ(all[3 * i + 1]["status"], "unsupported");
    EXPECT_TRUE(all[3 * i + 1]["p"].is_null());
    EXPECT_EQ(all[3 * i + 2], taylor[i]);
  }
}

TEST_F(NoMoments, WithoutAnyOtherEstimatorItsErrorEndsTheRun) {
  const Finished alone = estimate("adf");
  EXPECT_EQ(alone.status, 4) << alone.err;
  EXPECT_NE(alone.err.find("power"), std::string::npos) << alone.err;
  EXPECT_EQ(lines_of(alone.err).size(), 1U) << alone.err;
}

// Normal probabilities for each of very many classes are refused immediately, but counting works.
TEST(CliLimits, GroupsOfVeryManyClassesAreCounted) {
  const Folder folder;
  std::mt19937 random(6);
  test::OnnxBuilder builder;
  builder.input("x", {-1, 4}).weight("w", test::random_tensor({4, 1100}, random)).node("MatMul", {"x", "w"}, {"y"});
  folder.write("m.onnx", builder.output("y", {-1, 1100}).bytes());
  write_npy(folder / "x.npy", random_points({2, 4}));
  const Finished both = test::probust("estimate '" + folder / "m.onnx" + "' '" + folder / "x.npy" +
                                      "' --sigma 1 --estimator mc:8,taylor --groups 0,1,2 --quiet");
  EXPECT_EQ(both.status, 0) << both.err;
  const std::vector<json> all = rows(both.out);
  ASSERT_EQ(all.size(), 4U);
  for (std::size_t i = 0; i < 4; i += 2) {
    EXPECT_EQ(all[i]["status"], "ok");
    EXPECT_EQ(all[i + 1]["status"], "resources");
  }
}

// ---- memory

#ifndef PROBUST_SANITIZED  // sanitizers use memory of their own
// Runs the program and returns its peak resident memory in bytes, as the kernel reports it while the program runs. (getrusage
// would start from the size of the test itself.)
std::int64_t peak_of(const std::string& arguments, const std::string& out) {
  const Folder folder;
  const std::string run = std::string(PROBUST_PROGRAM) + " " + arguments + " >'" + out + "'";
  const std::string watch =
      " & while now=$(grep VmHWM /proc/$!/status 2>/dev/null); do peak=$now; sleep 0.02; done; echo \"$peak\" >'";
  EXPECT_EQ(std::system((run + watch + folder / "peak" + "'; wait $!").c_str()), 0);
  const std::string line = test::read_whole(folder / "peak");
  return std::stoll(line.substr(line.find_first_of("0123456789"))) << 10;
}

TEST(CliLimits, ANetworkOfRealSizeStaysWithinItsMemory) {
  const Folder folder;
  folder.write("m.onnx", test::make_onnx(test::architecture("resnet18")));
  write_npy(folder / "x.npy", random_points({6, 3, 32, 32}));
  const std::string run =
      "estimate '" + folder / "m.onnx" + "' '" + folder / "x.npy" + "' --quiet --sigma 0.1 --threads 2 --estimator taylor";
  // Winograd's algorithm needs four times the memory of a filter; the portable products need it only once.
  for (const auto& [device, within, free] : {std::tuple{"cpu", 420, 600}, {"eigen", 152, 400}}) {
    const std::string on = run + " --device " + device;
    EXPECT_LE(peak_of(on + " --memory " + std::to_string(within) + "M", folder / "within"), std::int64_t{within} << 20) << device;
    EXPECT_LE(peak_of(on, folder / "free"), std::int64_t{free} << 20) << device;
    EXPECT_EQ(test::read_whole(folder / "within"), test::read_whole(folder / "free")) << device;
  }
  const Finished unpacked = test::probust(run + " --memory 150M");
  EXPECT_EQ(unpacked.status, 5) << unpacked.err;
  EXPECT_NE(unpacked.err.find("or use --device eigen"), std::string::npos) << unpacked.err;
  const Finished little = test::probust(run + " --memory 60M");
  EXPECT_EQ(little.status, 5) << little.err;
  EXPECT_EQ(lines_of(little.err).size(), 1U) << little.err;
}
#endif

// ---- time

// 1200 rivals at about the same distance: the normal probability of one point takes seconds, that of 40 points minutes.
TEST(CliLimits, AlgebraCanBeInterrupted) {
  const Folder folder;
  std::mt19937 random(4);
  test::OnnxBuilder builder;
  builder.input("x", {-1, 400}).weight("w", test::random_tensor({400, 1201}, random)).node("MatMul", {"x", "w"}, {"y"});
  folder.write("m.onnx", builder.output("y", {-1, 1201}).bytes());
  write_npy(folder / "x.npy", random_points({40, 400}));
  const std::string run = std::string(PROBUST_PROGRAM) + " estimate '" + folder / "m.onnx" + "' '" + folder / "x.npy" +
                          "' --sigma 1 --estimator taylor --threads 2 -o '" + folder / "rows.csv" + "' 2>'" + folder / "err" +
                          "'";
  const int raw = std::system((run + " & sleep 2; kill -TERM $!; wait $!").c_str());
  ASSERT_TRUE(WIFEXITED(raw));
  EXPECT_EQ(WEXITSTATUS(raw), 130);
  EXPECT_NE(test::read_whole(folder / "err").find("interrupted"), std::string::npos);
}

// ---- where the time goes

TEST(CliLimits, BenchSaysWhereTheTimeGoes) {
  const json bench = json::parse(test::probust("bench '" + digits("digits.onnx") + "' --json --threads 1").out);
  for (const char* key : {"forward_us", "jacobian_us", "batch", "threads", "gemm_gflops"})
    EXPECT_GT(bench[key].get<double>(), 0) << key;
  EXPECT_EQ(bench["device"], "cpu");
  for (const char* list : {"forward_kinds", "jacobian_kinds"}) {
    ASSERT_GE(bench[list].size(), 1U) << list;  // its rectifiers are part of the products
    double last = INFINITY, products = 0;
    for (const json& kind : bench[list]) {
      EXPECT_FALSE(kind["kind"].get<std::string>().empty());
      EXPECT_GE(kind["steps"].get<int>(), 1);
      EXPECT_LE(kind["us"].get<double>(), last);  // longest first
      last = kind["us"].get<double>();
      if (kind["kind"].get<std::string>().rfind("matmul", 0) == 0) products += kind["gflops"].get<double>();
    }
    EXPECT_GT(products, 0) << bench[list];
  }
  const Finished table = test::probust("bench '" + digits("digits.onnx") + "' --threads 1");
  for (const char* title : {"forward pass, one thread", "margin Jacobian, one thread", "GFLOP/s", "of GEMM"})
    EXPECT_NE(table.out.find(title), std::string::npos) << title;
}

}  // namespace
}  // namespace probust
