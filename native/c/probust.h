/* SPDX-License-Identifier: MIT
 *
 * probust in C: the probability that a classifier's answer survives noise, P[argmax f(x + eps) = argmax f(x)].
 *
 *   probust_model* model;
 *   probust_rows* rows;
 *   const char* noises[] = {"gaussian:0.1"};
 *   probust_estimate_options options = {.size = sizeof options};
 *   options.noises = noises;
 *   options.noise_count = 1;
 *   if (probust_load_model("model.onnx", NULL, &model) || probust_estimate(model, x, count, &options, &rows))
 *     puts(probust_error());
 *
 * Every function that can fail returns a status, and probust_error() describes the error in one line. Structs begin with their
 * size, which the caller sets to sizeof, because later versions may add members at the end. A member that is zero or NULL
 * stands for its default. Strings are UTF-8. Calls with the same model must not overlap; different threads may use different
 * models.
 */
#ifndef PROBUST_H
#define PROBUST_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PROBUST_API __attribute__((visibility("default")))
#else
#define PROBUST_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are the command line's exit statuses. */
typedef enum probust_status {
  PROBUST_OK = 0,
  PROBUST_USAGE = 2,        /* an option or argument is wrong */
  PROBUST_UNREADABLE = 3,   /* a model or data file is missing or truncated, or its format, width or content is wrong */
  PROBUST_UNSUPPORTED = 4,  /* the model uses something that probust does not support */
  PROBUST_RESOURCES = 5,    /* not enough memory, or no such device */
  PROBUST_NUMERICAL = 6,    /* no number could be computed */
  PROBUST_INTERNAL = 70,    /* a bug in probust */
  PROBUST_INTERRUPTED = 130 /* a progress callback asked for a stop */
} probust_status;

typedef struct probust_model probust_model; /* a loaded classifier */
typedef struct probust_data probust_data;   /* points read from a file */
typedef struct probust_rows probust_rows;   /* estimates */

/* The version of the library: "0.2.0". */
PROBUST_API const char* probust_version(void);

/* The error of this thread's last failed call, as a sentence on one line: "points.npz has no labels; ...". Never NULL. */
PROBUST_API const char* probust_error(void);

/* ---- Models ---- */

typedef struct probust_load_options {
  size_t size;        /* sizeof(probust_load_options) */
  const double* mean; /* [mean_count] this is subtracted from the data: one number, or one per channel */
  size_t mean_count;
  const double* std; /* [std_count] the data are then divided by this: one number, or one per channel */
  size_t std_count;
  const char* layout;         /* axis order of the model's input: "auto", "nchw", "nhwc" or "whcn" */
  const int64_t* point_shape; /* [point_rank] shape of one point of the data, if it differs from the model's input */
  size_t point_rank;
  const int64_t* input_shape; /* [input_rank] shape of the model's input for one example, if the model has dynamic dimensions */
  size_t input_rank;
  const char* output_name; /* the output or inner tensor that determines the class; NULL: the only suitable one */
  const char* device; /* a name from probust_device, such as "cpu" (the default), "eigen" (slower, needs less memory) or "cuda";
                         "auto": a GPU if there is one, otherwise the CPU */
  int threads;        /* number of threads; 0: one */
  int64_t memory;     /* bytes for activations and gradients; 0: 2 GiB on the CPU, 80% of the free memory on a GPU */
  const double* threshold; /* for models with one output number: class 1 above this; NULL: 0 for scores, 0.5 for probabilities */
  const int64_t* outputs;  /* [output_count] the output values to use as classes, in this order; NULL: all */
  size_t output_count;
  const char* precision; /* precision of products and convolutions on a GPU: "float32" (the default), "tf32" or "bf16" */
  double tolerance;      /* for a regression model: a prediction survives if every output changes by less than this;
                            0: the model is a classifier */
} probust_load_options;

/* The name of the i-th device of this machine, such as "cpu" or "cuda:0"; NULL if there are at most i devices. If problem is
 * not NULL, *problem is set to the reason why the device cannot be used, or to NULL if it can. Without a GPU, the device "cuda"
 * is listed with such a reason. Both strings are valid until this thread's next call of this function. */
PROBUST_API const char* probust_device(size_t i, const char** problem);

/* Loads an ONNX model from a file, including external weights from files in its folder. */
PROBUST_API probust_status probust_load_model(const char* path, const probust_load_options* options, probust_model** model);

/* Loads an ONNX model from memory. The bytes are not needed afterwards. */
PROBUST_API probust_status probust_load_model_bytes(const void* bytes, size_t count, const probust_load_options* options,
                                                    probust_model** model);

/* A classifier that is implemented by functions, such as a remote service or a model of another library. The functions return 0
 * for success; any other value ends the call with PROBUST_INTERNAL. A point's logits must not depend on the other points of the
 * call. */
typedef struct probust_functions {
  size_t size; /* sizeof(probust_functions) */
  /* Writes logits [count, classes] of the points x [count, ...]. */
  int (*logits)(void* context, const float* x, int64_t count, float* logits);
  /* Writes the gradients [count, ...], with respect to x, of the sum of cotangents [count, classes] times logits. NULL:
   * estimators that need gradients are not available. */
  int (*vjp)(void* context, const float* x, const float* cotangents, int64_t count, float* gradients);
  void* context;              /* passed to both functions */
  int64_t classes;            /* number of logits per point */
  const int64_t* point_shape; /* [point_rank] shape of one point */
  size_t point_rank;
  int64_t batch; /* largest number of points per call; 0: as many as fit into memory, but at most 8192 points and 64 MB */
} probust_functions;

PROBUST_API probust_status probust_model_from_function(const probust_functions* functions, probust_model** model);

PROBUST_API void probust_free_model(probust_model* model); /* NULL is allowed, as in all functions that free */

/* The number of classes. For a regression model with K outputs and a tolerance, it is 2 K + 1: output k decreases by more than
 * the tolerance (K classes), output k increases by more than the tolerance (K classes), and no output changes by more (the last
 * class). */
PROBUST_API int64_t probust_classes(const probust_model* model);

/* The decision rule, in one line, such as "class 1 if 'score' > 0"; empty for functions. Valid as long as the model exists. */
PROBUST_API const char* probust_decision(const probust_model* model);

/* The name of a class, from the model's metadata or operators; NULL if it has none. Valid as long as the model exists. */
PROBUST_API const char* probust_class_name(const probust_model* model, int64_t class_number);

/* Returns the number of dimensions of a point, and writes the first `capacity` of them to shape. shape may be NULL. */
PROBUST_API size_t probust_point_shape(const probust_model* model, int64_t* shape, size_t capacity);

/* x is [count, ...], row-major; logits is [count, classes]. For a regression model with a tolerance, logits receives the
 * model's K outputs, [count, K]. */
PROBUST_API probust_status probust_logits(probust_model* model, const float* x, int64_t count, float* logits);

/* ---- Estimates ---- */

/* Called regularly during an estimate, in the thread that requested it, with the work done so far and the expected total, in
 * passes through the network. If it does not return 0, the estimate ends with PROBUST_INTERRUPTED. */
typedef int (*probust_progress)(void* context, int64_t done, int64_t planned);

typedef struct probust_estimate_options {
  size_t size;               /* sizeof(probust_estimate_options) */
  const char* const* noises; /* [noise_count] such as "gaussian:0.1"; required */
  size_t noise_count;
  const char* const* estimators; /* [estimator_count] such as "auto:100"; NULL: "auto" */
  size_t estimator_count;
  const int64_t* labels;     /* [count] classes of the points, from 0 to classes - 1, or NULL */
  const char* target;        /* the class that has to survive: "predicted" (the default), "label", or a number */
  const char* groups;        /* "0,1/2,3": any class of the target's group counts as the target; NULL: no groups */
  int per_class;             /* not 0: also estimate the probability of each class */
  int64_t top;               /* the target only needs to be among this many largest logits; 0 means 1 */
  uint64_t seed;             /* random seed for the noise */
  int64_t first_index;       /* position of the first point in its data; a point's noise depends on its position */
  probust_progress progress; /* called regularly; may be NULL */
  void* context;             /* passed to progress */
  int no_check;      /* not 0: skip the check, on at most 100 points, that points, preprocessing and labels match the model */
  const char* share; /* what points share in probit and regression: "none" (the default), "pooled", "learned" or "draws";
                        "none", if given, also applies to auto */
} probust_estimate_options;

/* One estimate. Its strings and `classes` belong to the probust_rows object that it was read from. Missing numbers are NaN. */
typedef struct probust_row {
  size_t size;           /* sizeof(probust_row) */
  int64_t index;         /* position of the point in its data */
  int64_t label;         /* class of the point; -1 if none was given */
  int64_t predicted;     /* the class of the largest logit */
  int64_t target;        /* the class that has to survive */
  const char* noise;     /* the noise model, such as "gaussian:0.1" */
  double sigma;          /* the parameter of a noise model that has only one, such as 0.1; otherwise NaN */
  const char* estimator; /* the requested estimator */
  double p;              /* probability that the target survives; NaN if it could not be computed: `note` gives the reason */
  double p_fail;         /* 1 - p, computed directly; with the status "bound", the upper end of its 95% interval */
  double std_error;      /* standard error of p */
  double ci_low;         /* 95% interval of p */
  double ci_high;
  int64_t forwards;      /* forward passes used */
  int64_t backwards;     /* backward passes used */
  const char* status;    /* "ok", or a word that docs/estimators.md explains */
  const char* method;    /* the estimator that was used, such as the one that "auto" chose */
  const char* note;      /* a sentence for the user; may be empty */
  const double* classes; /* [class_count] the probability of each class, with per_class; else NULL */
  size_t class_count;
  double p_label;     /* probability of the label, from the same passes; NaN without a label */
  double p_label_low; /* 95% interval of p_label */
  double p_label_high;
} probust_row;

/* Computes estimates for each of `count` points: one row for each point, noise and estimator, in that order. x is [count, ...],
 * row-major, in the units of the data. Divide bytes by 255 when converting them to floats, as probust_read_data does. */
PROBUST_API probust_status probust_estimate(probust_model* model, const float* x, int64_t count,
                                            const probust_estimate_options* options, probust_rows** rows);

PROBUST_API size_t probust_row_count(const probust_rows* rows);

/* The i-th warning of an estimate; NULL if there are at most i warnings. First come warnings of the check that precedes the
 * estimate, such as "the accuracy is 23.3% as given and 78.1% with CIFAR-10 mean and std (...)", which are also in the note of
 * each row, then those of the device, such as that a precision changes logits. The string belongs to the rows. */
PROBUST_API const char* probust_warning(const probust_rows* rows, size_t i);

/* Set row->size first: probust_row row = {.size = sizeof row}. */
PROBUST_API probust_status probust_get_row(const probust_rows* rows, size_t i, probust_row* row);

PROBUST_API void probust_free_rows(probust_rows* rows);

/* ---- Gradients of p ---- */

typedef struct probust_gradient_options {
  size_t size;           /* sizeof(probust_gradient_options) */
  const char* noise;     /* one additive noise model, such as "gaussian:0.1"; required */
  const char* estimator; /* "taylor" (the default), "taylor_mvs", "adf", "mmse:N", "mmse_mvs:N" and variants, or "mc:N" */
  const char* target;    /* what has to survive: "predicted" (the default), "label", or a class number */
  const int64_t* labels; /* [count] classes of the points, for the target "label"; or NULL */
  uint64_t seed;         /* random seed for the noise */
  int64_t first_index;   /* position of the first point in its data; a point's noise depends on its position */
  float* std_error;      /* [count, ...] with "mc:N": receives the standard errors of the gradients; or NULL */
  void (*warn)(void* context, const char* warning); /* receives what the gradients ignore; may be NULL */
  void* context;                                    /* passed to warn */
} probust_gradient_options;

/* Writes the gradients [count, ...] of p with respect to each of the points x [count, ...]: with "mc:N" an unbiased estimate for
 * the true p, otherwise the exact derivative of the estimator's own p. PROBUST_USAGE for an estimator without gradient and for
 * NaN, PROBUST_UNSUPPORTED for a model or noise that the estimator does not suit. */
PROBUST_API probust_status probust_p_gradient(probust_model* model, const float* x, int64_t count,
                                              const probust_gradient_options* options, float* gradient);

/* ---- Check ---- */

typedef struct probust_check_options {
  size_t size;           /* sizeof(probust_check_options) */
  const int64_t* labels; /* [count] classes of the points, or NULL */
  const double* sigmas;  /* [sigma_count] noise scales to compare with the data's range */
  size_t sigma_count;
  int text; /* not 0: readable text; 0: JSON */
} probust_check_options;

/* Checks whether points, preprocessing, layout and labels match the model, on at most 500 of the points x [count, ...], in the
 * units of the data. Writes the accuracy under common alternatives, warnings, and the options that fix the problems
 * (docs/check.md), as JSON or as readable text. Free the text with probust_free_text. */
PROBUST_API probust_status probust_check(probust_model* model, const float* x, int64_t count,
                                         const probust_check_options* options, char** text);

PROBUST_API void probust_free_text(char* text);

/* ---- Data ---- */

typedef struct probust_data_options {
  size_t size;              /* sizeof(probust_data_options) */
  int64_t offset;           /* the first point to read */
  int64_t limit;            /* number of points to read; 0: all */
  double scale;             /* factor for stored values; 0: 1/255 for bytes, otherwise 1 */
  const char* labels_path;  /* a file of labels, or NULL */
  const char* label_column; /* for CSV: a column counted from 0, a name in the first row, "last" or "none"; NULL: "last" */
  int skip_bad;             /* not 0: skip unreadable points instead of failing */
  const char* classes_path; /* a file with one class name per line, in the model's order, to match with text labels and class
                               folders; NULL: numbers are class numbers, and names are numbered in sorted order */
  int64_t resize;           /* for images: the length of the shorter side after resizing; 0: no resizing */
  int64_t crop;             /* for images: the side of the central square to which they are then cropped; 0: no cropping */
} probust_data_options;

/* Points read from a file. The arrays belong to the probust_data object. */
typedef struct probust_points {
  size_t size;    /* sizeof(probust_points) */
  const float* x; /* [count, ...] */
  int64_t count;
  const int64_t* shape; /* [rank] shape of one point */
  size_t rank;
  const int64_t* labels; /* [count], or NULL */
  const int64_t* index;  /* [count] position of each point in the file */
} probust_points;

/* Reads .npy, .npz, IDX, CIFAR .bin, CSV files and folders of images (docs/data.md). */
PROBUST_API probust_status probust_read_data(const char* path, const probust_data_options* options, probust_data** data);

/* Set points->size first. */
PROBUST_API probust_status probust_get_points(const probust_data* data, probust_points* points);

/* The i-th note about how the file was read, such as how text labels are numbered; NULL if there are at most i notes. The
 * string belongs to the data. */
PROBUST_API const char* probust_data_note(const probust_data* data, size_t i);

PROBUST_API void probust_free_data(probust_data* data);

#ifdef __cplusplus
}
#endif

#endif
