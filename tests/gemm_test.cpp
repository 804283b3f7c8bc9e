// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "probust/exec/cpu/packed_forms.h"

namespace probust::cpu {
namespace {

constexpr std::int64_t kMostRows = 200;

// Numbers in [-1, 1] whose sum depends on the order of summation.
Eigen::MatrixXf numbers(Eigen::Index rows, Eigen::Index columns) {
  Eigen::MatrixXf values(rows, columns);
  for (Eigen::Index i = 0; i < values.size(); ++i) values.data()[i] = std::sin(0.37F * static_cast<float>(i * i % 7919));
  return values;
}

Eigen::MatrixXf product(const Eigen::MatrixXf& a, std::int64_t rows, const Weights& w, const float* bias = nullptr) {
  Eigen::MatrixXf out = Eigen::MatrixXf::Constant(rows, w.cols(), NAN);
  Stretch packed;
  multiply(rows, a.data(), a.rows(), w, bias, out.data(), rows, packed);
  EXPECT_TRUE(packed.intact()) << rows << " rows, k = " << w.rows() << ", n = " << w.cols();
  return out;
}

constexpr Weights::Rest kRests[] = {Weights::Rest::padded, Weights::Rest::turned};

TEST(Gemm, ARowsProductDoesNotDependOnTheOthers) {
  for (const std::int64_t k : {1, 3, 8, 27, 256, 257, 784}) {
    for (const std::int64_t n : {1, 3, 4, 10, 33, 50}) {
      const Eigen::MatrixXf a = numbers(kMostRows, k), w = numbers(k, n);
      const Eigen::MatrixXf all = product(a, kMostRows, Weights(w, Weights::Rest::padded));
      for (const Weights::Rest rest : kRests) {
        const Weights packed(w, rest);
        for (std::int64_t rows = 1; rows < kMostRows; rows += rows < 60 ? 1 : 13)
          ASSERT_EQ(product(a, rows, packed), all.topRows(rows)) << rows << " rows, k = " << k << ", n = " << n;
      }
    }
  }
}

// Tests the widest layers of real networks, in which the kernel's blocks and remainders are largest.
TEST(Gemm, RowsAreIndependentAtRealSizes) {
  for (const auto& [k, n] : {std::pair{4608, 512}, {513, 2048}, {2304, 261}}) {
    const Eigen::MatrixXf a = numbers(kMostRows, k), w = numbers(k, n);
    const Weights padded(w, Weights::Rest::padded), turned(w, Weights::Rest::turned);
    const Eigen::MatrixXf all = product(a, kMostRows, padded);
    const Eigen::MatrixXd wanted = a.topRows(4).cast<double>() * w.cast<double>();
    EXPECT_LT((all.topRows(4).cast<double>() - wanted).cwiseAbs().maxCoeff(), 2e-6 * k) << k << ", " << n;
    for (const std::int64_t rows : {1, 3, 11, 12, 13, 31, 47, 48, 49, 80, 95, 144 + 32}) {
      ASSERT_EQ(product(a, rows, padded), all.topRows(rows)) << rows << " rows, k = " << k << ", n = " << n;
      ASSERT_EQ(product(a, rows, turned), all.topRows(rows)) << rows << " rows, k = " << k << ", n = " << n;
    }
  }
}

TEST(Gemm, ProductsAreRight) {
  const Eigen::MatrixXf a = numbers(kMostRows, 300), w = numbers(300, 21);
  const Eigen::MatrixXd wanted = a.cast<double>() * w.cast<double>();
  for (const Weights::Rest rest : kRests)
    EXPECT_LT((product(a, kMostRows, Weights(w, rest)).cast<double>() - wanted).cwiseAbs().maxCoeff(), 1e-4);
}

// Both for rows in full groups and for the remaining rows.
TEST(Gemm, BeginsWithTheBias) {
  const Eigen::MatrixXf a = numbers(kMostRows, 300), w = numbers(300, 21), bias = numbers(21, 1);
  const Eigen::MatrixXd wanted =
      (a.cast<double>() * w.cast<double>()).rowwise() + bias.cast<double>().reshaped<Eigen::RowMajor>().transpose();
  for (const Weights::Rest rest : kRests) {
    const Weights packed(w, rest);
    for (const std::int64_t rows : {1, 11, 49, 200})
      EXPECT_LT((product(a, rows, packed, bias.data()).cast<double>() - wanted.topRows(rows)).cwiseAbs().maxCoeff(), 1e-4);
  }
}

TEST(Gemm, AnEmptySumIsZero) {
  for (const Weights::Rest rest : kRests)
    EXPECT_EQ(product(numbers(5, 1), 5, Weights(Eigen::MatrixXf(0, 3), rest)), Eigen::MatrixXf::Zero(5, 3));
}

TEST(Gemm, AConstantIsPackedOnceInEachForm) {
  const auto constant = std::make_shared<const Tensor>(Shape{2, 2}, std::vector<float>{1, 2, 3, 4});
  int packed = 0;
  const auto weights = [&](Form form, std::int64_t order) {
    return shared_form<Weights>(constant, form, {order}, [&] {
      ++packed;
      return std::make_shared<const Weights>(numbers(2, 2), Weights::Rest::padded);
    });
  };
  const auto first = weights(Form::matrix, 0), again = weights(Form::matrix, 0), other = weights(Form::matrix, 1),
             filter = weights(Form::filter, 0);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_NE(first, filter);
  EXPECT_EQ(packed, 3);
}

}  // namespace
}  // namespace probust::cpu
