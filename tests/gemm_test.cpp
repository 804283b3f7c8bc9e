// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace probust::cpu {
namespace {

constexpr std::int64_t kMostRows = 200;

// Some numbers in [-1, 1] that no order of summation treats alike.
Eigen::MatrixXf numbers(Eigen::Index rows, Eigen::Index columns) {
  Eigen::MatrixXf values(rows, columns);
  for (Eigen::Index i = 0; i < values.size(); ++i) values.data()[i] = std::sin(0.37F * static_cast<float>(i * i % 7919));
  return values;
}

Eigen::MatrixXf product(const Eigen::MatrixXf& a, std::int64_t rows, const Weights& w, const float* bias = nullptr) {
  Eigen::MatrixXf out = Eigen::MatrixXf::Constant(rows, w.cols(), NAN);
  std::vector<float> scratch(static_cast<std::size_t>(multiply_scratch(rows, w)), NAN);
  multiply(rows, a.data(), a.rows(), w, bias, out.data(), rows, scratch.data());
  return out;
}

TEST(Gemm, ARowsProductDoesNotDependOnTheOthers) {
  for (const std::int64_t k : {1, 3, 8, 27, 256, 257, 784}) {
    for (const std::int64_t n : {1, 3, 4, 10, 33}) {
      const Eigen::MatrixXf a = numbers(kMostRows, k);
      const Weights w(numbers(k, n));
      const Eigen::MatrixXf all = product(a, kMostRows, w);
      for (std::int64_t rows = 1; rows < kMostRows; rows += rows < 60 ? 1 : 13)
        ASSERT_EQ(product(a, rows, w), all.topRows(rows)) << rows << " rows, k = " << k << ", n = " << n;
    }
  }
}

TEST(Gemm, ProductsAreRight) {
  const Eigen::MatrixXf a = numbers(kMostRows, 300), w = numbers(300, 21);
  const Eigen::MatrixXd wanted = a.cast<double>() * w.cast<double>();
  EXPECT_LT((product(a, kMostRows, Weights(w)).cast<double>() - wanted).cwiseAbs().maxCoeff(), 1e-4);
}

// Of rows in whole groups and of those left over alike.
TEST(Gemm, BeginsWithTheBias) {
  const Eigen::MatrixXf a = numbers(kMostRows, 300), w = numbers(300, 21), bias = numbers(21, 1);
  const Eigen::MatrixXd wanted =
      (a.cast<double>() * w.cast<double>()).rowwise() + bias.cast<double>().reshaped<Eigen::RowMajor>().transpose();
  for (const std::int64_t rows : {1, 11, 49, 200})
    EXPECT_LT((product(a, rows, Weights(w), bias.data()).cast<double>() - wanted.topRows(rows)).cwiseAbs().maxCoeff(), 1e-4);
}

TEST(Gemm, NoColumnsToSumMakeZero) {
  EXPECT_EQ(product(numbers(5, 1), 5, Weights(Eigen::MatrixXf(0, 3))), Eigen::MatrixXf::Zero(5, 3));
}

}  // namespace
}  // namespace probust::cpu
