// SPDX-License-Identifier: MIT
#include "experiments/program.h"

int main(int argc, char** argv) { return probust_reproduce(argc, argv); }
