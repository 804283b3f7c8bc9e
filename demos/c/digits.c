/* SPDX-License-Identifier: MIT
 *
 * p_robust of twenty digits at three sizes of noise, in C: digits MODEL.onnx POINTS.npz
 * Build: cc digits.c $(pkg-config --cflags --libs probust) -o digits */
#include <probust.h>
#include <stdio.h>

static int failed(void) {
  fprintf(stderr, "%s\n", probust_error());
  return 1;
}

int main(int argc, char** argv) {
  static const char* const noises[] = {"gaussian:0.1", "gaussian:0.2", "gaussian:0.4"};
  static const char* const estimators[] = {"auto", "taylor", "mc:10000"};
  probust_model* model = NULL;
  probust_data* data = NULL;
  probust_rows* rows = NULL;
  probust_data_options reading = {.size = sizeof reading};
  probust_estimate_options options = {.size = sizeof options};
  probust_points points = {.size = sizeof points};
  size_t i;

  if (argc != 3) {
    fprintf(stderr, "usage: digits MODEL.onnx POINTS.npz\n");
    return 2;
  }
  reading.limit = 20;
  options.noises = noises;
  options.noise_count = 3;
  options.estimators = estimators;
  options.estimator_count = 3;
  if (probust_load_model(argv[1], NULL, &model) != PROBUST_OK) return failed();
  if (probust_read_data(argv[2], &reading, &data) != PROBUST_OK) return failed();
  if (probust_get_points(data, &points) != PROBUST_OK) return failed();
  options.labels = points.labels;
  if (probust_estimate(model, points.x, points.count, &options, &rows) != PROBUST_OK) return failed();

  printf("%5s %5s %9s %13s %9s %8s\n", "point", "label", "predicted", "noise", "estimator", "p");
  for (i = 0; i < probust_row_count(rows); ++i) {
    probust_row row = {.size = sizeof row};
    if (probust_get_row(rows, i, &row) != PROBUST_OK) return failed();
    printf("%5ld %5ld %9ld %13s %9s %8.4f\n", (long)row.index, (long)row.label, (long)row.predicted, row.noise, row.estimator, row.p);
  }
  probust_free_rows(rows);
  probust_free_data(data);
  probust_free_model(model);
  return 0;
}
