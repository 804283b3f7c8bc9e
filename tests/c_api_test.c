/* SPDX-License-Identifier: MIT
 *
 * The C interface, compiled as C99: c_api_test MODEL.onnx POINTS.npz (the digits of demos/). */
#include <math.h>
#include <probust.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int condition, const char* what, int line) {
  if (condition) return;
  ++failures;
  fprintf(stderr, "c_api_test.c:%d: not so: %s (last error: %s)\n", line, what, probust_error());
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

/* The call fails with the status, and the error is one line with this text. */
static void expect_refusal(probust_status got, probust_status wanted, const char* text, int line) {
  expect(got == wanted, "the status", line);
  expect(strstr(probust_error(), text) != NULL, text, line);
  expect(strchr(probust_error(), '\n') == NULL, "one line", line);
}
#define REFUSED(call, status, text) expect_refusal(call, status, text, __LINE__)

static const char* const noises[] = {"gaussian:0.2", "laplace:0.1"};
static const char* const estimators[] = {"mc:200", "taylor"};

static probust_estimate_options plain(void) {
  probust_estimate_options options = {.size = sizeof options};
  options.noises = noises;
  options.noise_count = 2;
  options.estimators = estimators;
  options.estimator_count = 2;
  options.seed = 7;
  return options;
}

static void test_rows(probust_model* model, const probust_points* points) {
  probust_estimate_options options = plain();
  probust_rows* rows = NULL;
  size_t i;
  options.labels = points->labels;
  options.first_index = 100;
  EXPECT(probust_estimate(model, points->x, points->count, &options, &rows) == PROBUST_OK);
  EXPECT(probust_row_count(rows) == (size_t)points->count * 4);
  for (i = 0; i < probust_row_count(rows); ++i) {
    probust_row row = {.size = sizeof row};
    EXPECT(probust_get_row(rows, i, &row) == PROBUST_OK);
    EXPECT(row.index == 100 + (int64_t)(i / 4));
    EXPECT(row.label == points->labels[i / 4] && row.target == row.predicted);
    EXPECT(strcmp(row.noise, noises[i / 2 % 2]) == 0 && strcmp(row.estimator, estimators[i % 2]) == 0);
    EXPECT(row.sigma == (i / 2 % 2 == 0 ? 0.2 : 0.1));
    EXPECT(row.p >= 0 && row.p <= 1 && fabs(row.p + row.p_fail - 1) < 1e-12);
    EXPECT(i % 2 == 0 ? row.std_error >= 0 && row.ci_low <= row.p && row.p <= row.ci_high : isnan(row.std_error));
    EXPECT(row.forwards > 0 && (row.backwards > 0) == (i % 2 == 1));
    EXPECT(strlen(row.status) > 0 && strcmp(row.method, row.estimator) == 0);
    EXPECT(row.classes == NULL && row.class_count == 0);
  }
  probust_free_rows(rows);
}

static void test_events(probust_model* model, const probust_points* points) {
  probust_estimate_options options = plain();
  probust_rows* rows = NULL;
  probust_row row = {.size = sizeof row};
  double sum = 0;
  size_t i;
  options.estimator_count = options.noise_count = 1;
  options.per_class = 1;
  options.target = "3";
  EXPECT(probust_estimate(model, points->x, 1, &options, &rows) == PROBUST_OK);
  EXPECT(probust_get_row(rows, 0, &row) == PROBUST_OK);
  EXPECT(row.target == 3 && row.label == -1 && row.class_count == 10);
  for (i = 0; i < row.class_count; ++i) sum += row.classes[i];
  EXPECT(fabs(sum - 1) < 1e-12 && row.classes[3] == row.p);
  probust_free_rows(rows);
}

/* A caller with an older header has a shorter struct: what lies behind it is left alone. */
static void test_sizes(probust_model* model, const probust_points* points) {
  probust_estimate_options options = plain();
  probust_rows* rows = NULL;
  probust_row row;
  memset(&row, 0x55, sizeof row);
  options.size = offsetof(probust_estimate_options, labels);
  options.labels = (const int64_t*)1;
  EXPECT(probust_estimate(model, points->x, 1, &options, &rows) == PROBUST_OK);
  row.size = offsetof(probust_row, p);
  EXPECT(probust_get_row(rows, 0, &row) == PROBUST_OK);
  EXPECT(row.index == 0 && row.size == offsetof(probust_row, p));
  EXPECT(memcmp(&row.p, "\x55\x55\x55\x55\x55\x55\x55\x55", sizeof row.p) == 0);
  row.size = 0;
  REFUSED(probust_get_row(rows, 0, &row), PROBUST_USAGE, "impossible size");
  probust_free_rows(rows);
}

static int stop_at_once(void* context, int64_t done, int64_t planned) {
  int64_t* calls = context;
  ++*calls;
  return done >= 0 && planned > 0;
}

static int count_calls(void* context, int64_t done, int64_t planned) {
  *(int64_t*)context += done <= planned;
  return 0;
}

static void test_progress(probust_model* model, const probust_points* points) {
  static const char* const large[] = {"mc:100000"};
  probust_estimate_options options = plain();
  probust_rows* rows = NULL;
  int64_t calls = 0;
  options.estimators = large;
  options.estimator_count = options.noise_count = 1;
  options.context = &calls;
  options.progress = stop_at_once;
  REFUSED(probust_estimate(model, points->x, points->count, &options, &rows), PROBUST_INTERRUPTED, "interrupted");
  EXPECT(calls == 1 && rows == NULL);
  options.progress = count_calls;
  calls = 0;
  EXPECT(probust_estimate(model, points->x, 4, &options, &rows) == PROBUST_OK && calls > 0);
  probust_free_rows(rows);
}

static void test_mistakes(probust_model* model, const probust_points* points, const char* data) {
  static const char* const strange[] = {"gaussian:-1"};
  probust_estimate_options options = plain();
  probust_load_options loading = {.size = sizeof loading};
  probust_data_options reading = {.size = sizeof reading};
  probust_model* other = NULL;
  probust_rows* rows = NULL;
  probust_data* read = NULL;
  REFUSED(probust_load_model(NULL, NULL, &other), PROBUST_USAGE, "path");
  REFUSED(probust_load_model("no-such-file.onnx", NULL, &other), PROBUST_UNREADABLE, "no-such-file.onnx");
  REFUSED(probust_load_model(data, NULL, &other), PROBUST_UNREADABLE, "model");
  REFUSED(probust_load_model_bytes("not a model", 11, NULL, &other), PROBUST_UNREADABLE, "model");
  loading.layout = "sideways";
  REFUSED(probust_load_model_bytes("not a model", 11, &loading, &other), PROBUST_USAGE, "sideways");
  REFUSED(probust_read_data("no-such-file.npz", NULL, &read), PROBUST_UNREADABLE, "no-such-file.npz");
  REFUSED(probust_estimate(NULL, points->x, 1, &options, &rows), PROBUST_USAGE, "model");
  REFUSED(probust_estimate(model, NULL, 1, &options, &rows), PROBUST_USAGE, "x: is NULL");
  REFUSED(probust_estimate(model, points->x, 0, &options, &rows), PROBUST_USAGE, "count");
  REFUSED(probust_estimate(model, points->x, 1, NULL, &rows), PROBUST_USAGE, "noises");
  reading.limit = -5;
  REFUSED(probust_read_data(data, &reading, &read), PROBUST_USAGE, "limit: is negative");
  options.first_index = -1;
  REFUSED(probust_estimate(model, points->x, 1, &options, &rows), PROBUST_USAGE, "first_index: is -1");
  options.first_index = INT64_MAX;
  REFUSED(probust_estimate(model, points->x, 1, &options, &rows), PROBUST_USAGE, "first_index: is 9223372036854775807");
  options.first_index = 0;
  options.noises = strange;
  options.noise_count = 1;
  REFUSED(probust_estimate(model, points->x, 1, &options, &rows), PROBUST_USAGE, "gaussian:-1");
  EXPECT(other == NULL && rows == NULL && read == NULL);
  probust_free_model(NULL);
  probust_free_rows(NULL);
  probust_free_data(NULL);
}

/* Logits x, 1 - x of points [1]; the context counts points and says when to fail. */
static int two_logits(void* context, const float* x, int64_t count, float* logits) {
  int64_t i, *left = context;
  for (i = 0; i < count; ++i) {
    logits[2 * i] = x[i];
    logits[2 * i + 1] = 1 - x[i];
  }
  *left -= count;
  return *left < 0 ? 9 : 0;
}

static int two_gradients(void* context, const float* x, const float* cotangents, int64_t count, float* gradients) {
  int64_t i;
  (void)context;
  (void)x;
  for (i = 0; i < count; ++i) gradients[i] = cotangents[2 * i] - cotangents[2 * i + 1];
  return 0;
}

static void test_functions(void) {
  static const int64_t shape[] = {1};
  int64_t left = 100000;
  probust_functions functions = {.size = sizeof functions, .logits = two_logits, .context = &left, .classes = 2};
  probust_model* model = NULL;
  probust_rows* rows = NULL;
  probust_row row = {.size = sizeof row};
  probust_estimate_options options = plain();
  const char* const moments = "adf";
  const float x = 0.75F;
  REFUSED(probust_model_from_function(&functions, &model), PROBUST_USAGE, "point_shape");
  functions.point_shape = shape;
  functions.point_rank = 1;
  EXPECT(probust_model_from_function(&functions, &model) == PROBUST_OK);
  REFUSED(probust_estimate(model, &x, 1, &options, &rows), PROBUST_UNSUPPORTED, "gradients");
  left = 150;
  options.estimator_count = 1;
  REFUSED(probust_estimate(model, &x, 1, &options, &rows), PROBUST_INTERNAL, "logits: returned 9");
  probust_free_model(model);

  left = 100000;
  functions.vjp = two_gradients;
  EXPECT(probust_model_from_function(&functions, &model) == PROBUST_OK);
  options.estimator_count = 2;
  EXPECT(probust_estimate(model, &x, 1, &options, &rows) == PROBUST_OK);
  EXPECT(probust_get_row(rows, 1, &row) == PROBUST_OK);
  EXPECT(fabs(row.p - 0.89435) < 1e-4); /* Phi(0.25 / 0.2) */
  probust_free_rows(rows);
  options.estimators = &moments;
  options.estimator_count = 1;
  REFUSED(probust_estimate(model, &x, 1, &options, &rows), PROBUST_UNSUPPORTED, "moments");
  probust_free_model(model);
}

static void test_logits(probust_model* model, const probust_points* points) {
  float logits[20];
  int64_t shape[4] = {0, 0, 0, 0};
  size_t rank = probust_point_shape(model, shape, 4);
  EXPECT(probust_classes(model) == 10);
  EXPECT(rank == points->rank && memcmp(shape, points->shape, rank * sizeof *shape) == 0);
  logits[10] = logits[19] = -1e9F;
  EXPECT(probust_logits(model, points->x, 2, logits) == PROBUST_OK && logits[10] > -1e9F && logits[19] > -1e9F);
}

static unsigned char* bytes_of(const char* path, size_t* size) {
  static unsigned char bytes[1 << 20];
  FILE* file = fopen(path, "rb");
  *size = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
  if (file != NULL) fclose(file);
  return bytes;
}

int main(int argc, char** argv) {
  probust_load_options loading = {.size = sizeof loading};
  probust_data_options reading = {.size = sizeof reading};
  probust_points points = {.size = sizeof points};
  probust_model *model = NULL, *same = NULL;
  probust_data* data = NULL;
  size_t size;
  const unsigned char* bytes;
  if (argc != 3) return 2;
  reading.limit = 8;
  loading.threads = 2;
  EXPECT(probust_load_model(argv[1], &loading, &model) == PROBUST_OK);
  EXPECT(probust_read_data(argv[2], &reading, &data) == PROBUST_OK);
  EXPECT(probust_get_points(data, &points) == PROBUST_OK && points.count == 8 && points.labels != NULL);
  EXPECT(points.index != NULL && points.index[7] == 7);
  bytes = bytes_of(argv[1], &size);
  EXPECT(probust_load_model_bytes(bytes, size, NULL, &same) == PROBUST_OK);
  loading.device = "abacus";
  REFUSED(probust_load_model(argv[1], &loading, &same), PROBUST_USAGE, "device: 'abacus'");
  if (failures > 0) return 1;
  EXPECT(strlen(probust_version()) >= 5);
  test_logits(same, &points);
  test_rows(model, &points);
  test_events(model, &points);
  test_sizes(model, &points);
  test_progress(model, &points);
  test_functions();
  test_mistakes(model, &points, argv[2]);
  probust_free_data(data);
  probust_free_model(model);
  probust_free_model(same);
  return failures > 0;
}
