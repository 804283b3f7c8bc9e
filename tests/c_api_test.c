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

static void test_share(probust_model* model, const probust_points* points) {
  static const char* const probit = "probit:20";
  probust_estimate_options options = plain();
  probust_rows* rows = NULL;
  probust_row row = {.size = sizeof row};
  options.estimators = &probit;
  options.estimator_count = 1;
  options.share = "pooled";
  EXPECT(probust_estimate(model, points->x, points->count, &options, &rows) == PROBUST_OK);
  EXPECT(probust_get_row(rows, 0, &row) == PROBUST_OK);
  EXPECT(strcmp(row.estimator, "probit:20:pooled") == 0);
  probust_free_rows(rows);
  options.share = "all";
  REFUSED(probust_estimate(model, points->x, points->count, &options, &rows), PROBUST_USAGE, "share");
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
    EXPECT(row.p >= 0 && row.p <= 1 && (strcmp(row.status, "bound") == 0 || fabs(row.p + row.p_fail - 1) < 1e-12));
    EXPECT(row.p_label >= 0 && row.p_label <= 1 && (row.label != row.target || row.p_label == row.p));
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
  EXPECT(row.target == 3 && row.label == -1 && isnan(row.p_label) && row.class_count == 10);
  for (i = 0; i < row.class_count; ++i) sum += row.classes[i];
  EXPECT(fabs(sum - 1) < 1e-12 && row.classes[3] == row.p);
  probust_free_rows(rows);
}

/* A caller with an older header has a shorter struct, and the memory after it must not be written. */
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
  REFUSED(probust_get_row(rows, 0, &row), PROBUST_USAGE, "invalid size");
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

static void test_labels(probust_model* model, const probust_points* points) {
  const int64_t labels[] = {0, 9, 10, 3};
  const char *table = "c_api_labels.csv", *names = "c_api_names.txt";
  probust_estimate_options options = plain();
  probust_data_options reading = {.size = sizeof reading};
  probust_points read = {.size = sizeof read};
  probust_data* data = NULL;
  probust_rows* rows = NULL;
  FILE* file;
  options.labels = labels;
  REFUSED(probust_estimate(model, points->x, 4, &options, &rows), PROBUST_USAGE,
          "labels must be classes of the model, not 10 at position 2; the model has classes 0..9");
  file = fopen(table, "w");
  EXPECT(file != NULL && fputs("1,2,pear\n3,4,apple\n", file) >= 0 && fclose(file) == 0);
  file = fopen(names, "w");
  EXPECT(file != NULL && fputs("fig\npear\napple\n", file) >= 0 && fclose(file) == 0);
  EXPECT(probust_read_data(table, &reading, &data) == PROBUST_OK && probust_get_points(data, &read) == PROBUST_OK);
  EXPECT(read.labels[0] == 1 && read.labels[1] == 0);
  EXPECT(strcmp(probust_data_note(data, 0), "text labels are numbered in sorted order: apple = 0, pear = 1") == 0);
  EXPECT(probust_data_note(data, 1) == NULL && probust_data_note(NULL, 0) == NULL);
  probust_free_data(data);
  reading.classes_path = names;
  EXPECT(probust_read_data(table, &reading, &data) == PROBUST_OK && probust_get_points(data, &read) == PROBUST_OK);
  EXPECT(read.labels[0] == 1 && read.labels[1] == 2);
  probust_free_data(data);
  remove(table);
  remove(names);
}

static void test_mistakes(probust_model* model, const probust_points* points, const char* model_path, const char* data) {
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
  {
    static const int64_t wanted[] = {3, 8}, wrong[] = {3, 10};
    const double threshold = 0.5;
    loading.outputs = wanted;
    loading.output_count = 2;
    EXPECT(probust_load_model(model_path, &loading, &other) == PROBUST_OK && probust_classes(other) == 2);
    EXPECT(strstr(probust_decision(other), "restricted to 2") != NULL && probust_class_name(other, 0) == NULL);
    probust_free_model(other);
    other = NULL;
    loading.outputs = wrong;
    REFUSED(probust_load_model(model_path, &loading, &other), PROBUST_USAGE, "outputs");
    loading.output_count = 0;
    loading.threshold = &threshold;
    REFUSED(probust_load_model(model_path, &loading, &other), PROBUST_USAGE, "threshold");
    loading.threshold = NULL;
  }
  loading.layout = "sideways";
  REFUSED(probust_load_model_bytes("not a model", 11, &loading, &other), PROBUST_USAGE, "sideways");
  REFUSED(probust_read_data("no-such-file.npz", NULL, &read), PROBUST_UNREADABLE, "no-such-file.npz");
  REFUSED(probust_estimate(NULL, points->x, 1, &options, &rows), PROBUST_USAGE, "model");
  REFUSED(probust_estimate(model, NULL, 1, &options, &rows), PROBUST_USAGE, "x is NULL");
  REFUSED(probust_estimate(model, points->x, 0, &options, &rows), PROBUST_USAGE, "count");
  REFUSED(probust_estimate(model, points->x, 1, NULL, &rows), PROBUST_USAGE, "noises");
  reading.limit = -5;
  REFUSED(probust_read_data(data, &reading, &read), PROBUST_USAGE, "limit is negative");
  reading.limit = 0;
  reading.resize = -1;
  REFUSED(probust_read_data(data, &reading, &read), PROBUST_USAGE, "resize is not a number of pixels from 1 to 16384");
  reading.resize = 0;
  options.first_index = -1;
  REFUSED(probust_estimate(model, points->x, 1, &options, &rows), PROBUST_USAGE, "first_index is -1");
  options.first_index = INT64_MAX;
  REFUSED(probust_estimate(model, points->x, 1, &options, &rows), PROBUST_USAGE, "first_index is 9223372036854775807");
  options.first_index = 0;
  options.noises = strange;
  options.noise_count = 1;
  REFUSED(probust_estimate(model, points->x, 1, &options, &rows), PROBUST_USAGE, "gaussian:-1");
  EXPECT(other == NULL && rows == NULL && read == NULL);
  probust_free_model(NULL);
  probust_free_rows(NULL);
  probust_free_data(NULL);
}

/* The logits x and 1 - x of points [1]. The context counts points and determines when to fail. */
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
  REFUSED(probust_estimate(model, &x, 1, &options, &rows), PROBUST_INTERNAL, "logits returned 9");
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

static void test_check(probust_model* model, const probust_points* points) {
  probust_check_options options = {.size = sizeof options};
  int64_t labels[8];
  double sigma = 50;
  char* text = NULL;
  EXPECT(probust_check(model, points->x, points->count, NULL, &text) == PROBUST_OK);
  EXPECT(strstr(text, "\"suspicious\": false") != NULL && strstr(text, "\"accuracy\": null") != NULL);
  probust_free_text(text);
  options.labels = points->labels;
  options.sigmas = &sigma;
  options.sigma_count = 1;
  EXPECT(probust_check(model, points->x, points->count, &options, &text) == PROBUST_OK);
  EXPECT(strstr(text, "noise of 50 is larger than the range of the data") != NULL);
  probust_free_text(text);
  for (int i = 0; i < 8; ++i) labels[i] = points->labels[i] + 90;
  options.labels = labels;
  options.sigma_count = 0;
  options.text = 1;
  EXPECT(probust_check(model, points->x, points->count, &options, &text) == PROBUST_OK);
  EXPECT(strstr(text, "warning: labels range from 90") != NULL);
  probust_free_text(text);
  REFUSED(probust_check(NULL, points->x, 1, NULL, &text), PROBUST_USAGE, "model");
}

/* Noise of 50 is too much for pixels in 0..1. The warning is stored with the rows. */
static void test_warnings(probust_model* model, const probust_points* points) {
  static const char* const large[] = {"gaussian:50"};
  int64_t none[8];
  probust_estimate_options options = plain();
  probust_row row = {.size = sizeof row};
  probust_rows* rows = NULL;
  options.noises = large;
  options.noise_count = 1;
  EXPECT(probust_estimate(model, points->x, points->count, &options, &rows) == PROBUST_OK);
  EXPECT(probust_warning(rows, 0) != NULL && strstr(probust_warning(rows, 0), "noise of 50 is larger") != NULL);
  EXPECT(probust_warning(rows, 1) == NULL && probust_warning(NULL, 0) == NULL);
  EXPECT(probust_get_row(rows, 0, &row) == PROBUST_OK && strstr(row.note, "may be wrong") != NULL);
  probust_free_rows(rows);
  for (int i = 0; i < 8; ++i) none[i] = -1; /* -1: without a label, so the points are checked as unlabelled ones */
  options.labels = none;
  EXPECT(probust_estimate(model, points->x, 8, &options, &rows) == PROBUST_OK && probust_warning(rows, 0) != NULL);
  probust_free_rows(rows);
  options.labels = NULL;
  options.no_check = 1;
  EXPECT(probust_estimate(model, points->x, points->count, &options, &rows) == PROBUST_OK && probust_warning(rows, 0) == NULL);
  probust_free_rows(rows);
}

/* Compares rows from the CPU with those from a GPU, or from the emulated device if PROBUST_MODULES names its folder. */
static void test_devices(const char* path, const probust_points* points) {
  const char *problem = NULL, *name;
  probust_load_options loading = {.size = sizeof loading};
  probust_model *here = NULL, *there = NULL;
  probust_rows* rows[2] = {NULL, NULL};
  probust_estimate_options options = plain();
  size_t i = 0;
  EXPECT(strcmp(probust_device(0, &problem), "cpu") == 0 && problem == NULL && probust_device(100, NULL) == NULL);
  while ((name = probust_device(i, &problem)) != NULL && strncmp(name, "cuda", 4) != 0) ++i;
  EXPECT(name != NULL && (problem == NULL) == (strcmp(name, "cuda:0") == 0));
  loading.device = "cuda";
  if (problem != NULL) {
    char reason[200] = "";
    strncpy(reason, problem, sizeof reason - 1);
    REFUSED(probust_load_model(path, &loading, &there), PROBUST_RESOURCES, reason);
    EXPECT(getenv("PROBUST_MODULES") == NULL);
  } else {
    EXPECT(probust_load_model(path, NULL, &here) == PROBUST_OK && probust_load_model(path, &loading, &there) == PROBUST_OK);
    EXPECT(probust_estimate(here, points->x, points->count, &options, &rows[0]) == PROBUST_OK);
    EXPECT(probust_estimate(there, points->x, points->count, &options, &rows[1]) == PROBUST_OK);
    EXPECT(probust_row_count(rows[0]) == probust_row_count(rows[1]));
    for (i = 0; i < probust_row_count(rows[0]); ++i) {
      probust_row row = {.size = sizeof row}, other = {.size = sizeof other};
      EXPECT(probust_get_row(rows[0], i, &row) == PROBUST_OK && probust_get_row(rows[1], i, &other) == PROBUST_OK);
      EXPECT(row.predicted == other.predicted && fabs(row.p - other.p) <= 2e-5);
    }
    probust_free_rows(rows[0]);
    probust_free_rows(rows[1]);
    probust_free_model(here);
    probust_free_model(there);
  }
  loading.device = "gpu";
  REFUSED(probust_load_model(path, &loading, &there), PROBUST_USAGE, "device cannot be 'gpu'");
  loading.device = "cpu";
  loading.precision = "tf32";
  REFUSED(probust_load_model(path, &loading, &there), PROBUST_USAGE, "precision is tf32, but the CPU supports only float32");
}

static void test_tolerance(const char* path, const probust_points* points) {
  probust_load_options loading = {.size = sizeof loading};
  probust_estimate_options options = plain();
  probust_model* within = NULL;
  probust_rows* rows = NULL;
  probust_row row = {.size = sizeof row};
  loading.tolerance = 4;
  EXPECT(probust_load_model(path, &loading, &within) == PROBUST_OK);
  EXPECT(probust_classes(within) == 21 && strstr(probust_decision(within), "changes by less than 4") != NULL);
  EXPECT(probust_estimate(within, points->x, points->count, &options, &rows) == PROBUST_OK);
  EXPECT(probust_get_row(rows, 0, &row) == PROBUST_OK && row.target == 20 && row.p > 0 && row.p < 1);
  probust_free_rows(rows);
  options.labels = points->labels;
  REFUSED(probust_estimate(within, points->x, points->count, &options, &rows), PROBUST_USAGE, "labels applies to classifiers");
  probust_free_model(within);
  loading.tolerance = -1;
  REFUSED(probust_load_model(path, &loading, &within), PROBUST_USAGE, "tolerance is '-1', which is not a positive number");
}

static void count_warning(void* context, const char* warning) {
  if (strstr(warning, "approximated as Gaussian") != NULL) ++*(int*)context;
}

static void test_gradients(probust_model* model, const probust_points* points) {
  static float gradient[2 * 256], moved[256], std_error[2 * 256];
  probust_gradient_options options = {.size = sizeof options};
  probust_estimate_options estimating = plain();
  const char* noises[] = {"gaussian:0.3"};
  const char* estimators[] = {"taylor"};
  double p[2], along = 0, length = 0;
  int warnings = 0, i, e;
  options.noise = noises[0];
  EXPECT(probust_p_gradient(model, points->x, 2, &options, gradient) == PROBUST_OK);
  for (e = 0; e < 256; ++e) length += gradient[e] * gradient[e];
  length = sqrt(length);
  EXPECT(length > 0);
  estimating.noises = noises;
  estimating.noise_count = 1;
  estimating.estimators = estimators;
  estimating.estimator_count = 1;
  estimating.target = "0";  /* the class of the first point */
  for (i = 0; i < 2; ++i) { /* p rises along its gradient */
    probust_rows* rows = NULL;
    probust_row row = {.size = sizeof row};
    for (e = 0; e < 256; ++e) moved[e] = points->x[e] + (float)((i == 0 ? -0.01 : 0.01) * gradient[e] / length);
    EXPECT(probust_estimate(model, moved, 1, &estimating, &rows) == PROBUST_OK);
    EXPECT(probust_get_row(rows, 0, &row) == PROBUST_OK);
    p[i] = row.p;
    probust_free_rows(rows);
  }
  along = (p[1] - p[0]) / 0.02;
  EXPECT(fabs(along - length) < 0.05 * length + 1e-5);
  options.noise = "uniform:0.3";
  options.warn = count_warning;
  options.context = &warnings;
  EXPECT(probust_p_gradient(model, points->x, 2, &options, gradient) == PROBUST_OK && warnings == 1);
  options.noise = "gaussian:0.3";
  options.std_error = std_error;
  REFUSED(probust_p_gradient(model, points->x, 2, &options, gradient), PROBUST_USAGE, "std_error applies only to mc:N");
  options.estimator = "mc:100";
  EXPECT(probust_p_gradient(model, points->x, 2, &options, gradient) == PROBUST_OK);
  options.noise = NULL;
  REFUSED(probust_p_gradient(model, points->x, 2, &options, gradient), PROBUST_USAGE, "noise is missing");
  options.noise = "gaussian:0.3";
  options.estimator = "softmax";
  REFUSED(probust_p_gradient(model, points->x, 2, &options, gradient), PROBUST_USAGE, "has no gradient of p");
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
  REFUSED(probust_load_model(argv[1], &loading, &same), PROBUST_USAGE, "device cannot be 'abacus'");
  if (failures > 0) return 1;
  EXPECT(strlen(probust_version()) >= 5);
  test_logits(same, &points);
  test_rows(model, &points);
  test_share(model, &points);
  test_events(model, &points);
  test_sizes(model, &points);
  test_progress(model, &points);
  test_labels(model, &points);
  test_functions();
  test_check(model, &points);
  test_gradients(model, &points);
  test_warnings(model, &points);
  test_devices(argv[1], &points);
  test_tolerance(argv[1], &points);
  test_mistakes(model, &points, argv[1], argv[2]);
  probust_free_data(data);
  probust_free_model(model);
  probust_free_model(same);
  return failures > 0;
}
