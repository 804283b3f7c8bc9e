// SPDX-License-Identifier: MIT
// probust train: models, records, checkpoints, interruptions and errors.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "probust/data/datasets.h"
#include "probust/onnx/import.h"
#include "support/command.h"
#include "support/moons.h"

namespace probust {
namespace {

using test::Finished;
using test::Folder;
using test::mentions;
using test::moons;

// A row of CIFAR binary has a label and 3072 bytes.
std::string pictures(const Folder& folder, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes += static_cast<char>(i % 3);
    for (int e = 0; e < 3072; ++e) bytes += static_cast<char>((e * (i % 3 + 1) + 37 * i) % 256);
  }
  return folder.write("pictures.bin", bytes);
}

Finished train(const std::string& arguments) { return test::probust("train " + arguments); }

TEST(CliTrain, WritesAModelWithItsTrainingRecord) {
  const Folder folder;
  const std::string data = moons(folder), model = folder / "moons.onnx";
  const Finished done =
      train("--data " + data + " --model mlp:16 --activation tanh --epochs 30 --batch 20 --rate 0.02 --seed 5 -o " + model);
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(mentions(done.out, model + ": mlp:16 after 30 epochs, loss 0.0")) << done.out;
  EXPECT_TRUE(mentions(done.err, "epoch 30/30  loss 0.")) << done.err;
  EXPECT_TRUE(mentions(done.err, "training accuracy 9") || mentions(done.err, "training accuracy 100")) << done.err;
  EXPECT_TRUE(mentions(test::read_whole(model), R"("seed":5)"));
  EXPECT_TRUE(mentions(test::read_whole(model), R"("rate":0.02)"));
  EXPECT_FALSE(std::filesystem::exists(model + ".checkpoint"));
  EXPECT_EQ(test::probust("estimate " + model + " " + data + " --sigma 0.1 --estimator taylor --quiet").status, 0);
  // The same command writes the same file.
  const std::string first = test::read_whole(model);
  train("--data " + data + " --model mlp:16 --activation tanh --epochs 30 --batch 20 --rate 0.02 --seed 5 --quiet -o " + model);
  EXPECT_EQ(test::read_whole(model), first);
}

TEST(CliTrain, EveryModelLearnsPictures) {
  const Folder folder;
  const std::string data = pictures(folder, 12);
  for (const std::string name : {"linear", "mlp:8,8", "cnn", "vit"}) {
    const std::string model = folder / "model.onnx";
    const Finished done =
        train("--data " + data + " --test " + data + " --model " + name +
              " --epochs 2 --batch 6 --lambda 0.01 --augment-sigma 0.1 --augment-flip --augment-crop 2 --json -o " + model);
    ASSERT_EQ(done.status, 0) << name << done.err;
    const auto record = nlohmann::json::parse(done.out);
    EXPECT_EQ(record["model"], name);
    EXPECT_EQ(record["points"], 12);
    EXPECT_NEAR(record["test_accuracy"], record["accuracy"], 1e-12);
    EXPECT_TRUE(mentions(done.err, "test accuracy")) << done.err;
    EXPECT_EQ(test::probust("estimate " + model + " " + data + " --sigma 0.1 --estimator taylor --quiet").status, 0);
  }
}

TEST(CliTrain, MaximisesPOfTheLabel) {
  const Folder folder;
  const std::string data = pictures(folder, 12);
  for (const std::string name : {"linear", "mlp:8,8", "cnn"}) {
    const std::string model = folder / "model.onnx";
    const Finished done = train("--data " + data + " --model " + name +
                                " --epochs 2 --batch 6 --objective p_robust --sigma 0.2 --json -o " + model);
    ASSERT_EQ(done.status, 0) << name << done.err;
    const auto record = nlohmann::json::parse(done.out);
    EXPECT_EQ(record["objective"], "p_robust");
    EXPECT_EQ(record["sigma"], 0.2);
  }
}

TEST(CliTrain, ADivergingRunKeepsTheLastGoodState) {
  const Folder folder;
  const std::string model = folder / "moons.onnx", checkpoint = model + ".checkpoint",
                    begin = "train --data " + moons(folder) + " --model mlp:8 --optimizer sgd --schedule constant -o " + model;
  // One good epoch, after which training ends; then it is resumed at a rate that is far too large.
  ASSERT_EQ(test::probust(begin + " --epochs 1 --rate 0.1").status, 0);
  EXPECT_FALSE(std::filesystem::exists(checkpoint));
  const std::string good = test::read_whole(model);
  Finished diverged = test::probust(begin + " --rate 1e30");
  EXPECT_EQ(diverged.status, 6) << diverged.err;
  EXPECT_TRUE(mentions(diverged.err, "training diverged in epoch 0.")) << diverged.err;
  EXPECT_TRUE(mentions(diverged.err, ": the loss is not finite")) << diverged.err;
  EXPECT_EQ(test::read_whole(model), good);
  EXPECT_FALSE(std::filesystem::exists(checkpoint));
  // At this rate, some epochs pass before the loss is infinite.
  diverged = test::probust(begin + " --epochs 1000 --batch 400 --decay 0 --momentum 0 --rate 1e7");
  EXPECT_EQ(diverged.status, 6) << diverged.err;
  EXPECT_TRUE(mentions(diverged.err, "resume from the last good state in ")) << diverged.err;
  EXPECT_EQ(test::read_whole(model), good);
  const Finished resumed = test::probust(begin + " --epochs 2000 --batch 400 --decay 0 --momentum 0 --rate 1e-9 --quiet");
  EXPECT_EQ(resumed.status, 0) << resumed.err;
}

TEST(CliTrain, AnInterruptedTrainingResumesToTheSameModel) {
  const Folder folder;
  const std::string data = moons(folder, 3000), whole = folder / "whole.onnx", model = folder / "model.onnx",
                    how = "train --data " + data + " --model mlp:64,64 --epochs 12 --batch 8 -o ";
  ASSERT_EQ(test::probust(how + whole).status, 0);
  int kills = 0;
  for (const int signal : {SIGINT, SIGKILL, SIGKILL}) {
    const pid_t child = fork();
    if (child == 0) {
      const std::string command = "exec " PROBUST_PROGRAM " " + how + model + " --quiet";
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    // Kills the command as soon as there is a state to resume from, and then after different times.
    for (int k = 0; k < 3000 && !std::filesystem::exists(model + ".checkpoint"); ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::this_thread::sleep_for(std::chrono::milliseconds(30 * ++kills));
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    const int ended = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    EXPECT_TRUE(ended == 0 || ended == (signal == SIGINT ? 130 : 128 + SIGKILL)) << ended;
    if (std::filesystem::exists(model)) break;  // training finished before the signal
  }
  if (!std::filesystem::exists(model)) {
    const Finished resumed = test::probust(how + model);
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_TRUE(mentions(resumed.err, "resuming after epoch")) << resumed.err;
  }
  EXPECT_EQ(test::read_whole(model), test::read_whole(whole));
}

TEST(CliTrain, ACheckpointOfAnotherTrainingIsRefused) {
  const Folder folder;
  const std::string model = folder / "m.onnx", data = moons(folder);
  folder.write("m.onnx.checkpoint", "probust checkpoint 1\nbroken");
  EXPECT_EQ(train("--data " + data + " --model linear --epochs 1 -o " + model).status, 3);
  EXPECT_EQ(train("--data " + data + " --model linear --epochs 1 --force-new -o " + model).status, 0);
  const std::string diverging = "--data " + data +
                                " --model mlp:8 --optimizer sgd --schedule constant --epochs 1000 --batch 400 "
                                "--decay 0 --momentum 0 --rate 1e7 -o " +
                                model;
  EXPECT_EQ(train(diverging).status, 6);
  const Finished other = train("--data " + data + " --model mlp:9 --epochs 1 -o " + model);
  EXPECT_EQ(other.status, 7) << other.err;
  EXPECT_TRUE(mentions(other.err, "belongs to a different training run")) << other.err;
}

TEST(CliTrain, ErrorsAreOnOneLine) {
  const Folder folder;
  const std::string data = "--data " + moons(folder) + " -o " + (folder / "x.onnx") + " ";
  for (const auto& [arguments, problem] : std::vector<std::pair<std::string, std::string>>{
           {"--model lenet", "--model cannot be 'lenet'; use cnn, linear"},
           {"", "--model has a convolutional layer that does not accept points of shape [2]"},
           {"--model linear --rate 0", "--rate is 0"},
           {"--model linear --lambda -1", "--lambda is -1"},
           {"--model linear --objective p_robust", "--sigma is missing; give the standard deviation of the noise"},
           {"--model linear --sigma 0.1", "--sigma applies only to --objective p_robust"},
           {"--model linear --objective p_robust --sigma 0", "--sigma is 0; give a positive number"},
           {"--model linear --objective p_robust --sigma 0.1 --lambda 1", "--lambda has no effect if p is maximised"},
           {"--model linear --augment-sigma nan", "--augment-sigma is nan"},
           {"--model linear --optimizer lbfgs", "--optimizer cannot be 'lbfgs'; use adam or sgd"},
           {"--model linear --schedule step", "--schedule cannot be 'step'"},
           {"--model mlp:4 --activation sine", "--activation cannot be 'sine'"},
           {"--model linear --augment-flip", "--augment-flip needs images"},
           {"--model mlp:4,", "--model is 'mlp:4,', which has a width that is not a number"}}) {
    const Finished wrong = train(data + arguments);
    EXPECT_EQ(wrong.status, 2) << arguments;
    EXPECT_TRUE(mentions(wrong.err, "probust: " + problem)) << wrong.err;
    EXPECT_EQ(test::lines_of(wrong.err).size(), 1U) << wrong.err;
  }
  EXPECT_EQ(train("--data " + moons(folder) + " --model linear -o x.txt").status, 2);
  EXPECT_EQ(train("--data missing.csv --model linear -o x.onnx").status, 3);
  EXPECT_EQ(train("--data " + moons(folder) + " --label-column none --model linear -o x.onnx").status, 2);
  EXPECT_EQ(train("--data " + moons(folder) + " --model mlp:4000,4000 --memory 10M -o x.onnx").status, 5);
}

}  // namespace
}  // namespace probust
