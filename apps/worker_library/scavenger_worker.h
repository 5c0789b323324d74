/* The C interface of libscavenger_worker.so: a Scavenger worker whose gradients a host program
 * computes, in any language and with any library for tensors.
 *
 * scavenger-train starts the host program in place of scavenger-worker, with a launch ticket on its
 * standard input. The program fills a scavenger_worker_host with its functions and calls
 * scavenger_worker_run(), which returns when the job has ended. The library knows neither LibTorch
 * nor Python; the package `scavenger` (python/) is such a host program, and the example of one.
 *
 * Memory: weights and gradients are flat vectors of 32-bit floats that the library owns, in memory
 * that is shared with other workers where they are on one machine. A parameter is a part of them,
 * at the offset that scavenger_worker_run() tells by parameter_offsets; each starts at a multiple
 * of 64 bytes. Buffers (BatchNorm's statistics) belong to the host program, which tells their
 * addresses once.
 *
 * Threads: all functions of the host are called on the thread that called scavenger_worker_run(),
 * except for `expect`. It need not be the program's first thread. Calls of the library from within
 * them are allowed as each says.
 *
 * Errors: a function of the host returns SCAVENGER_OK, or another status after it has called
 * scavenger_worker_explain(). The job then ends with that explanation.
 *
 * Versions: SCAVENGER_WORKER_INTERFACE is raised if an existing program would have to be changed.
 * New functions may come within a version, and new fields at the end of a struct whose first field
 * is its size; a host that was made before has a smaller one. */
#pragma once

#include <stdint.h>

#define SCAVENGER_WORKER_INTERFACE 1u

#ifdef __cplusplus
extern "C" {
#endif

enum {
  SCAVENGER_OK = 0,
  SCAVENGER_BAD_INPUT = 1, /* what the user gave is wrong: it would fail again on any machine */
  SCAVENGER_FAILED = 2     /* this process cannot go on; another one may */
};

/* What the host program is to make a model for. All pointers are valid during set_up(). */
typedef struct scavenger_job {
  uint64_t struct_bytes;
  const char* config; /* the job's resolved configuration: JSON (docs/config.md) */
  const char* data;   /* the shape of the samples: JSON {"sample_shape": [...], "vocabulary": n,
                         "target": "label" | "values" | "next_tokens" | "sequence", "classes": n,
                         "target_shape": [...], "train_samples": n} */
  uint32_t index;     /* of this worker, in the job */
  uint32_t threads;   /* that it may compute with */
} scavenger_job;

typedef struct scavenger_tensor {
  const char* name; /* in checkpoints: "layers.0.weight" */
  const char* type; /* as in safetensors: "F32", "I64", "BOOL"; parameters are "F32" */
  const int64_t* shape;
  uint32_t dimensions;
  void* memory; /* buffers only: dense, row-major, at this address until the end */
} scavenger_tensor;

/* The model, which set_up() fills. The library has copied all but the buffers' memory when set_up()
 * has returned and tensors are asked for no more. */
typedef struct scavenger_model {
  uint64_t struct_bytes;
  const scavenger_tensor* parameters; /* at least one */
  uint32_t parameter_count;
  const scavenger_tensor* buffers;
  uint32_t buffer_count;
  uint32_t batches_ahead; /* batches that expect() is to announce; 0: two */
  const char* place;      /* the device that computes, for the log; null: the host program's */
} scavenger_model;

/* A batch: size samples. One of features and tokens is null, and one of labels and values. A sample
 * of a data set of the host's own is one token, its number in that data set; those of the test
 * data follow those of the training data. */
typedef struct scavenger_batch {
  uint64_t struct_bytes;
  uint64_t first_position; /* in the job's order of samples; evaluations: in the data */
  uint32_t size;
  uint32_t sample_dimensions;
  const int64_t* sample_shape; /* of one sample */
  const float* features;
  const int64_t* tokens;
  const int64_t* target_shape; /* of one target; no dimensions: a label */
  uint32_t target_dimensions;
  uint32_t is_for_training;
  const int64_t* labels;
  const float* values;
  double loss_terms; /* a sample's terms of the loss, as a mean over the global batch */
  /* Of batches for training: the iteration, this worker's rank in it, K, and B. A batch with
   * is_probe measures the gradient's noise; its gradient is not used. An iteration that a change of
   * the membership has dropped comes again, with the same number. */
  uint64_t iteration;
  uint32_t rank;
  uint32_t workers;
  uint32_t global_batch_size;
  uint32_t is_probe;
} scavenger_batch;

/* The result of forward_backward(). */
typedef struct scavenger_step {
  uint64_t struct_bytes;
  double loss; /* the mean over the batch's samples */
  double forward_seconds;
  double backward_seconds;
  double data_wait_seconds;
} scavenger_step;

/* The result of evaluate(): sums over the batch, as docs/events.md has them. */
typedef struct scavenger_sums {
  uint64_t struct_bytes;
  uint64_t predictions;
  uint64_t correct;
  uint64_t correct_in_top5;
  double loss;
  double negative_log_likelihood;
  double squared_error;
} scavenger_sums;

/* How a worker has ended. took_part: it trained until the end of the job, and the weights in use
 * are the last ones, after so many iterations. The other fields are zero otherwise. */
typedef struct scavenger_end {
  uint64_t struct_bytes;
  uint64_t iterations;
  uint32_t took_part;
  uint32_t rank;
  uint32_t workers;
  uint32_t global_batch_size;
} scavenger_end;

/* One step of the optimizer of a job whose sync.strategy is all_reduce. Vectors are weights first,
 * then the optimizer's state, in the order of `optimizer.state` of the configuration. All workers
 * are given the same numbers, and must come to the same ones. */
typedef struct scavenger_optimizer_step {
  uint64_t struct_bytes;
  uint64_t iteration;
  uint64_t step_number; /* with this state, from 1; before the first step the state is all zero */
  uint64_t epochs;      /* whole passes over the training data before the iteration */
  double factor;      /* of the learning rates: the configuration's schedule and batch size rule */
  float* gradient;    /* of the global batch, clipped; it may be changed */
  float* const* from; /* before the step, which must not change */
  float* const* to;   /* after it */
  uint32_t vectors;
} scavenger_optimizer_step;

typedef struct scavenger_worker scavenger_worker;

typedef struct scavenger_worker_host {
  uint64_t struct_bytes;
  uint32_t interface_version; /* SCAVENGER_WORKER_INTERFACE */
  uint32_t reserved;
  void* context; /* given to each function */

  int (*set_up)(void* context, const scavenger_job* job, scavenger_model* model);
  /* Computes with so many threads from now on. */
  int (*use_threads)(void* context, uint32_t threads);
  /* The model reads its parameters there, or writes their gradients, from now on. Weights change
   * between two places from one iteration to the next. */
  int (*use_weights)(void* context, float* weights);
  int (*use_gradients)(void* context, float* gradients);
  /* Writes the model's initial weights to the weights in use. */
  int (*write_initial_weights)(void* context);
  /* Computes the gradient of the mean loss of the batch over the gradients in use. random_key
   * decides dropout and the like. Calls scavenger_worker_gradient_ready() for each parameter whose
   * gradient is final; all others have a gradient of zero. */
  int (*forward_backward)(void* context, scavenger_worker* worker, const scavenger_batch* batch,
                          uint64_t random_key, scavenger_step* step);
  int (*evaluate)(void* context, const scavenger_batch* batch, scavenger_sums* sums);
  /* May be null. Announces a batch of the training, before it is trained on or dropped. Called on
   * another thread, and must not wait. */
  int (*expect)(void* context, const scavenger_batch* batch);
  /* May be null. The controller has ended this worker. The memory of weights and gradients is gone
   * when this has returned. */
  int (*end)(void* context, const scavenger_end* end);
  /* May be null if no job has the strategy all_reduce. Writes `to`. */
  int (*step)(void* context, const scavenger_optimizer_step* step);
  /* May be null. Calls work(data) on that many threads at once, on this one too, and returns when
   * all have returned: the function GOMP_parallel of the OpenMP library that the host computes
   * with, whose threads are awake after a pass. The library steps weights on them. flags: 0. */
  void (*in_parallel)(void (*work)(void* data), void* data, unsigned threads, unsigned flags);
  /* May be null. The memory of weights and gradients may be unmapped when this has returned: a host
   * that has had a GPU pin it releases it. use_weights() and use_gradients() come before its use.
   */
  void (*release_vectors)(void* context);
} scavenger_worker_host;

/* Returns SCAVENGER_WORKER_INTERFACE of the library. */
uint32_t scavenger_worker_interface(void);
/* Returns "scavenger 0.1.0 (commit)", for messages. */
const char* scavenger_worker_version(void);

/* Reads the launch ticket, works until the job ends, and returns the exit code of the process:
 * 0; 1 after an error; 2 after wrong input. Call it once, on the thread that computes. */
int scavenger_worker_run(const scavenger_worker_host* host);

/* From use_weights() and use_gradients(): the offset of each parameter in the flat vectors, in
 * floats, in the order of the model's parameters; and the length of the vectors. */
const uint64_t* scavenger_worker_parameter_offsets(void);
uint64_t scavenger_worker_flat_size(void);

/* From forward_backward(), on any thread, one at a time: the gradient of this parameter is final,
 * and its weights are not read again. Once for a parameter. */
void scavenger_worker_gradient_ready(scavenger_worker* worker, uint32_t parameter);

/* From forward_backward(), on its thread: does a part of what follows it, the step of gradients
 * that were told of. For a host that waits for a device. Returns 0 if there is nothing at present.
 */
int scavenger_worker_work_ahead(scavenger_worker* worker);

/* From any function of the host that returns an error, on its thread: what was wrong, where, and
 * what to do about it. `where` and `remedy` may be empty. */
void scavenger_worker_explain(const char* what, const char* where, const char* remedy);
/* Besides the explanation: the traceback of an exception in the user's code, of several lines,
 * which is printed on the user's terminal as it is. On the same thread. */
void scavenger_worker_show_traceback(const char* traceback);

/* From forward_backward(), while it runs, on any thread: values by name for the job's log and
 * terminal. Only rank 0 should call it, at most twice a second. */
void scavenger_worker_log(uint64_t iteration, const char* const* names, const double* values,
                          uint32_t count);

#ifdef __cplusplus
}
#endif
