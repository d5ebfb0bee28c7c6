#pragma once
// Everything but files: tensors, operations, differentiation, networks and their states, optimizers, data, training.
// Files of weights, histories as JSON and plots are in locus/io/, whole networks in locus/models/; sorting and
// histograms in separate headers. docs/reference.md names the header of every function. Each header also stands alone.

// First, so that the compiler's path to what is refused is short.
#include <locus/tensor/tensor.hpp>

#include <locus/expr/expr.hpp>

#include <locus/expr/activations.hpp>
#include <locus/expr/elementwise.hpp>
#include <locus/expr/functions.hpp>
#include <locus/expr/operators.hpp>

#include <locus/ops/view.hpp>

#include <locus/autograd/traced.hpp>

#include <locus/autograd/parameter.hpp>

#include <locus/nn/members.hpp>

#include <locus/nn/module.hpp>

#include <locus/cpu/device_info.hpp>
#include <locus/cuda/device_info.hpp>
#include <locus/cuda/pinned.hpp>
#include <locus/cuda/settings.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/cuda/versions.hpp>
#include <locus/device/capture.hpp>
#include <locus/select.hpp>

#include <locus/tensor/copy_async.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/from_blob.hpp>
#include <locus/tensor/print.hpp>
#include <locus/tensor/random.hpp>

#include <locus/ops/as_strided.hpp>
#include <locus/ops/batch_norm.hpp>
#include <locus/ops/close.hpp>
#include <locus/ops/conv.hpp>
#include <locus/ops/cross_entropy.hpp>
#include <locus/ops/cumulative.hpp>
#include <locus/ops/dropout.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/flip.hpp>
#include <locus/ops/group_norm.hpp>
#include <locus/ops/im2col.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/interpolate.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/linear_cross_entropy.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/pad.hpp>
#include <locus/ops/pool.hpp>
#include <locus/ops/prelu.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/repeat.hpp>
#include <locus/ops/scan.hpp>
#include <locus/ops/scatter.hpp>
#include <locus/ops/search.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/ops/split.hpp>
#include <locus/ops/triangle.hpp>

#include <locus/ops/attention.hpp>

#include <locus/autograd/checkpoint.hpp>
#include <locus/autograd/grad.hpp>
#include <locus/autograd/gradcheck.hpp>

#include <locus/nn/activation.hpp>
#include <locus/nn/advise.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/bounded_activation.hpp>
#include <locus/nn/channels_last.hpp>
#include <locus/nn/conv.hpp>
#include <locus/nn/criterion.hpp>
#include <locus/nn/dropout.hpp>
#include <locus/nn/embedding.hpp>
#include <locus/nn/flatten.hpp>
#include <locus/nn/frozen.hpp>
#include <locus/nn/group_norm.hpp>
#include <locus/nn/layer_norm.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/margin_loss.hpp>
#include <locus/nn/nll_loss.hpp>
#include <locus/nn/orthogonal.hpp>
#include <locus/nn/pixel_shuffle.hpp>
#include <locus/nn/pool.hpp>
#include <locus/nn/prelu.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/softmax.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/nn/summary.hpp>
#include <locus/nn/upsample.hpp>

#include <locus/nn/attention.hpp>

#include <locus/optim/groups.hpp>

#include <locus/optim/sgd.hpp>

#include <locus/optim/adadelta.hpp>
#include <locus/optim/adagrad.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/clip.hpp>
#include <locus/optim/grad_scaler.hpp>
#include <locus/optim/lion.hpp>
#include <locus/optim/rmsprop.hpp>
#include <locus/optim/scheduler.hpp>

#include <locus/data/loading/loader.hpp>
#include <locus/data/loading/workers.hpp>
#include <locus/data/sets/cifar.hpp>
#include <locus/data/sets/fake_data.hpp>
#include <locus/data/sets/fashion_mnist.hpp>
#include <locus/data/sets/mnist.hpp>
#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/data/sets/token_windows.hpp>
#include <locus/data/to.hpp>
#include <locus/data/transforms/mixup.hpp>
#include <locus/data/transforms/transformed.hpp>

#include <locus/training/fit.hpp>
#include <locus/training/optimizer_state.hpp>
#include <locus/training/peak.hpp>
#include <locus/training/step_memory.hpp>

#include <locus/refuse/other_headers.hpp>

#ifdef LOCUS_COMPILED
#include <locus/compiled.hpp>
#endif
