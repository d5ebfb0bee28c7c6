#pragma once
// Stands in for cuDNN on the simulated GPU: its backend's descriptors, as strict as cuDNN is, heuristics that name the
// engines that a test wants, and graphs that are computed from the descriptors alone, by plain loops in float64: a pass
// of a convolution, or products, reductions and pointwise functions (cudnn_graph_stand_in.hpp).

#include <cudnn_graph.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace simulated {

/// An engine of cuDNN's.
struct DnnEngine {
  std::int64_t index = 0;
  std::vector<cudnnBackendNumericalNote_t> notes{};
  std::int64_t workspace = 0;  ///< bytes, and as many for each image
  std::int64_t workspace_of_image = 0;
  double milliseconds = 0;
  std::int64_t knob = 4;                       ///< the value of its one knob, CUDNN_KNOB_TYPE_TILE_SIZE
  cudnnStatus_t ready = CUDNN_STATUS_SUCCESS;  ///< status of making a plan of it,
  cudnnStatus_t runs = CUDNN_STATUS_SUCCESS;   ///< and of a launch
  bool is_fallback = false;
  bool adds_bias = true;  ///< whether it computes a graph of a convolution and the addition of a bias,
  bool rectifies = true;  ///< and relu,
  bool sums = true;       ///< or the sums of channels
};

/// Behaviour of the simulated cuDNN, set by tests, and observations for them.
struct Dnn {
  std::size_t version = CUDNN_VERSION;
  std::vector<DnnEngine> engines{
      {.index = 46, .notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, .workspace = 300},
      {.index = 25, .notes = {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}},
      {.index = 5, .notes = {CUDNN_NUMERICAL_NOTE_WINOGRAD}, .workspace = 200},
      {.index = 1, .workspace = 100, .is_fallback = true},
      {.index = 0, .notes = {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, .is_fallback = true}};
  cudnnStatus_t creation = CUDNN_STATUS_SUCCESS;              ///< status of cudnnCreate,
  cudnnStatus_t operation = CUDNN_STATUS_SUCCESS;             ///< of finalizing a pass's descriptor,
  cudnnStatus_t heuristics = CUDNN_STATUS_SUCCESS;            ///< and of finalizing heuristics
  int handles = 0;                                            ///< that were made
  int asked = 0, planned = 0, launched = 0;                   ///< heuristics, plans, launches
  std::int64_t engine = -1;                                   ///< of the last launch,
  std::int64_t images = 0;                                    ///< its batch,
  double beta = 0;                                            ///< the factor of its previous result,
  bool has_bias = false;                                      ///< whether it added a bias,
  bool has_relu = false;                                      ///< and applied relu,
  bool has_sums = false;                                      ///< or summed channels,
  std::vector<std::int64_t> x_strides, w_strides, y_strides;  ///< and the strides of operands
  std::int64_t alignment = 0;                                 ///< the least alignment promised for an operand
};
inline Dnn dnn;

namespace dnn_detail {
struct Handle {
  cudaStream_t stream = nullptr;
};

struct Record;
using Held = std::shared_ptr<Record>;
struct Attribute {
  cudnnBackendAttributeType_t type;
  std::int64_t count;
  std::vector<unsigned char> bytes{};
  std::vector<Held> held{};  ///< of descriptors, which cuDNN copies
};
/// The target of a descriptor.
struct Record {
  cudnnBackendDescriptorType_t type;
  bool is_final = false;
  std::map<int, Attribute> attributes{};
  const DnnEngine* engine = nullptr;

  [[nodiscard]] const Attribute& at(int name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) stop("cuDNN: a descriptor without an attribute that it needs");
    return found->second;
  }
  template <class T>
  [[nodiscard]] std::vector<T> values(int name) const {
    const Attribute& attribute = at(name);
    std::vector<T> all(static_cast<std::size_t>(attribute.count));
    std::memcpy(all.data(), attribute.bytes.data(), attribute.bytes.size());
    return all;
  }
  template <class T> [[nodiscard]] T value(int name) const { return values<T>(name).at(0); }
  [[nodiscard]] const Record& record(int name) const { return *at(name).held.at(0); }
};
struct Slot {
  Held record;
};
inline Slot& slot(cudnnBackendDescriptor_t descriptor) {
  if (!descriptor) stop("cuDNN: no descriptor");
  return *static_cast<Slot*>(descriptor);
}
inline std::string& last_error() {
  static std::string text;
  return text;
}
inline cudnnStatus_t answer(cudnnStatus_t status, const char* why) {
  last_error() = status == CUDNN_STATUS_SUCCESS ? "" : why;
  return status;
}

struct Rule {
  int name;
  cudnnBackendAttributeType_t type;
  std::int64_t least, most;
};
/// Attributes that a descriptor may be given; attributes with a minimum of one element are required.
inline std::vector<Rule> rules_of(cudnnBackendDescriptorType_t type) {
  const auto pass = [](int first, int x, int w, int y) {
    std::vector<Rule> rules{{first, CUDNN_TYPE_FLOAT, 1, 1}, {first + 1, CUDNN_TYPE_FLOAT, 1, 1}};
    for (const int name : {first + 2, x, w, y}) rules.push_back({name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1});
    return rules;
  };
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return {{CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
              {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
              {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
              {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 1},
              {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 1},
              {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 0, 1},
              {CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 0, 1}};
    case CUDNN_BACKEND_MATMUL_DESCRIPTOR: return {{CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1}};
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_OPERATION_MATMUL_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_OPERATION_MATMUL_CDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1}};
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      return {{CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 1},
              {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1},
              {CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 0, 1}};
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, 1},
              {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, 1},
              {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1}};
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
      return {{CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, 1},
              {CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1}};
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1}};
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1}};
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return {{CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
              {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 1},
              {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, 1},
              {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 1, 3},
              {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 1, 3},
              {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 1, 3},
              {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 1, 3}};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return pass(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return pass(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return pass(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return {{800, CUDNN_TYPE_HANDLE, 1, 1},  // CUDNN_ATTR_OPERATIONGRAPH_HANDLE, which older versions need
              {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 64}};
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1, 1},
              {CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1},
              {CUDNN_ATTR_OPERATION_GENSTATS_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1}};
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1}};
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return {{CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, 1}};
    case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR:
      return {{CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, 1},
              {CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, 1}};
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return {{CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
              {CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, 64}};
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return {{400, CUDNN_TYPE_HANDLE, 1, 1},  // CUDNN_ATTR_EXECUTION_PLAN_HANDLE
              {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1}};
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 1, 64},
              {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, 64},
              {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 1}};
    default: stop("cuDNN: a descriptor of a type that Locus does not use");
  }
}
inline std::size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN: return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR: return 8;
    default: return 4;
  }
}

inline bool is_virtual(const Record& tensor) { return tensor.attributes.count(CUDNN_ATTR_TENSOR_IS_VIRTUAL) > 0; }
/// The operation's operands.
struct Operands {
  const Record *x, *w, *y, *windows;
  float alpha, beta;
  cudnnBackendDescriptorType_t pass;
  explicit Operands(const Record& operation) : pass(operation.type) {
    const auto rules = rules_of(operation.type);
    alpha = operation.value<float>(rules[0].name), beta = operation.value<float>(rules[1].name);
    windows = &operation.record(rules[2].name), x = &operation.record(rules[3].name);
    w = &operation.record(rules[4].name), y = &operation.record(rules[5].name);
  }
  static std::vector<std::int64_t> extents(const Record& tensor) {
    return tensor.values<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  }
  static std::vector<std::int64_t> strides(const Record& tensor) {
    return tensor.values<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  }
  [[nodiscard]] std::vector<std::int64_t> option(int name) const { return windows->values<std::int64_t>(name); }
};

inline void check_tensor(const Record& tensor) {
  const auto extents = Operands::extents(tensor), strides = Operands::strides(tensor);
  const auto alignment = tensor.value<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  const auto type = tensor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  const auto element = type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? 2 : 4;
  if (extents.size() != strides.size() || extents.size() < 4) stop("cuDNN: a tensor of other extents than strides");
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (extents[d] < 1 || strides[d] < 1) stop("cuDNN: a tensor without elements, or that overlaps");
  if (alignment < element || (alignment & (alignment - 1)) != 0) stop("cuDNN: an impossible alignment");
}
inline cudnnStatus_t check_windows(const Record& windows) {
  const auto dims = static_cast<std::size_t>(windows.value<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  for (const int name : {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                         CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}) {
    const auto values = windows.values<std::int64_t>(name);
    const bool is_padding = name == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS || name == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS;
    if (values.size() != dims) stop("cuDNN: an option of a convolution for other dimensions");
    for (const std::int64_t value : values)
      if (value < (is_padding ? 0 : 1)) return answer(CUDNN_STATUS_BAD_PARAM, "finalize_internal()");
  }
  if (windows.value<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT)
    stop("cuDNN: sums in another type than float");
  return CUDNN_STATUS_SUCCESS;
}
/// Extents and types of a pass must fit each other, as the formula of a convolution's result has it.
inline cudnnStatus_t check_pass(const Record& operation) {
  const Operands o(operation);
  const auto x = o.extents(*o.x), w = o.extents(*o.w), y = o.extents(*o.y);
  if (x.size() != w.size() || y.size() != x.size() || o.option(CUDNN_ATTR_CONVOLUTION_DILATIONS).size() + 2 != x.size())
    stop("cuDNN: operands of other dimensions than their convolution");
  if (x[0] != y[0] || w[0] != y[1] || x[1] % w[1] != 0 || w[0] % (x[1] / w[1]) != 0)
    stop("cuDNN: channels or groups that do not fit");
  for (std::size_t d = 2; d < x.size(); ++d) {
    const std::int64_t padded = x[d] + o.option(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)[d - 2] +
                                o.option(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)[d - 2];
    const std::int64_t reach = (w[d] - 1) * o.option(CUDNN_ATTR_CONVOLUTION_DILATIONS)[d - 2] + 1;
    if (padded < reach || y[d] != (padded - reach) / o.option(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)[d - 2] + 1)
      stop("cuDNN: a result of other extents than its convolution has");
  }
  const auto type = [](const Record& tensor) { return tensor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE); };
  if (type(*o.x) != type(*o.w) || type(*o.y) != (is_virtual(*o.y) ? CUDNN_DATA_FLOAT : type(*o.x)))
    stop("cuDNN: operands of several types");
  if (o.alpha != 1 || (o.beta != 0 && o.beta != 1)) stop("cuDNN: a scaled pass");
  return answer(dnn.operation, "the pass is not supported");
}

/// An addition of one element for each channel.
inline void check_addition(const Record& operation) {
  const Record& add = operation.record(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const auto y = Operands::extents(operation.record(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  const auto bias = Operands::extents(operation.record(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
  if (add.value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE) != CUDNN_POINTWISE_ADD ||
      add.value<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC) != CUDNN_DATA_FLOAT ||
      Operands::extents(operation.record(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)) != y)
    stop("cuDNN: another operation than an addition of floats");
  for (std::size_t d = 0; d < y.size(); ++d)
    if (bias.at(d) != (d == 1 ? y[1] : 1)) stop("cuDNN: no bias of channels");
}
/// Sums in float of each channel.
inline void check_sums(const Record& operation) {
  const auto y = Operands::extents(operation.record(CUDNN_ATTR_OPERATION_GENSTATS_XDESC));
  for (const int name : {CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC}) {
    const Record& sums = operation.record(name);
    if (sums.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE) != CUDNN_DATA_FLOAT)
      stop("cuDNN: sums of another type");
    for (std::size_t d = 0; d < y.size(); ++d)
      if (Operands::extents(sums).at(d) != (d == 1 ? y[1] : 1)) stop("cuDNN: no sums of channels");
  }
}
/// Whether an operation is a convolution's pass, with which a graph of convolutions begins.
inline bool is_convolution(const Record& operation) {
  return operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
         operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
         operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}
inline void check_relu(const Record& operation) {
  const Record& relu = operation.record(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  if (relu.value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE) != CUDNN_POINTWISE_RELU_FWD ||
      relu.value<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC) != CUDNN_DATA_FLOAT)
    stop("cuDNN: another operation than relu of floats");
}
/// The operations after a convolution: the addition of a bias, relu, or both, in this order, or sums of channels.
struct Epilogue {
  const Record *bias = nullptr, *sums = nullptr, *result;
  bool relu = false;

  explicit Epilogue(const std::vector<Held>& operations) : result(Operands(*operations[0]).y) {
    for (std::size_t i = 1; i < operations.size(); ++i) {
      const Record& operation = *operations[i];
      if (sums || relu) stop("cuDNN: an operation after the last one");
      if (operation.type == CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR) {
        if (is_virtual(*result) || &operation.record(CUDNN_ATTR_OPERATION_GENSTATS_XDESC) != result)
          stop("cuDNN: something else is summed");
        sums = &operation;
        continue;
      }
      if (!is_virtual(*result) || &operation.record(CUDNN_ATTR_OPERATION_POINTWISE_XDESC) != result)
        stop("cuDNN: an epilogue of something else, or of a result that is kept");
      relu = operation.attributes.count(CUDNN_ATTR_OPERATION_POINTWISE_BDESC) == 0;
      if (relu) check_relu(operation);
      else check_addition(operation), bias = &operation.record(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
      result = &operation.record(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    }
    if (is_virtual(*result)) stop("cuDNN: a result that is not kept");
  }
  [[nodiscard]] bool is_computed_by(const DnnEngine& engine) const {
    return (!bias || engine.adds_bias) && (!relu || engine.rectifies) && (!sums || engine.sums);
  }
};
/// Other graphs than those of convolutions are checked as they are computed.
inline void check_graph(const Record& graph) {
  const auto& operations = graph.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).held;
  if (is_convolution(*operations[0])) (void)Epilogue(operations);
}

inline const DnnEngine* find_engine(std::int64_t index) {
  for (const DnnEngine& engine : dnn.engines)
    if (engine.index == index) return &engine;
  return nullptr;
}
inline const Record& pass_of(const Record& engine) {
  return engine.record(CUDNN_ATTR_ENGINE_OPERATION_GRAPH).record(CUDNN_ATTR_OPERATIONGRAPH_OPS);
}
inline std::int64_t images_of(const Record& engine) {
  return is_convolution(pass_of(engine)) ? Operands::extents(*Operands(pass_of(engine)).x)[0] : 0;
}
inline std::int64_t workspace_of(const Record& plan) {
  const Record& engine = plan.record(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).record(CUDNN_ATTR_ENGINECFG_ENGINE);
  return engine.engine->workspace + engine.engine->workspace_of_image * images_of(engine);
}

template <class T>
void assign(Record& record, int name, cudnnBackendAttributeType_t type, T value) {
  Attribute attribute{type, 1};
  attribute.bytes.resize(sizeof value);
  std::memcpy(attribute.bytes.data(), &value, sizeof value);
  record.attributes[name] = attribute;
}
/// The engine with its knob, as heuristics answer it.
inline Held configuration_of(const DnnEngine& engine, const Held& graph) {
  const auto made = std::make_shared<Record>(Record{CUDNN_BACKEND_ENGINE_DESCRIPTOR, true});
  made->engine = &engine;
  made->attributes[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {graph}};
  assign(*made, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, engine.index);
  const auto knob = std::make_shared<Record>(Record{CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, true});
  assign(*knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, CUDNN_KNOB_TYPE_TILE_SIZE);
  assign(*knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, engine.knob);
  const auto configuration = std::make_shared<Record>(Record{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, true});
  configuration->attributes[CUDNN_ATTR_ENGINECFG_ENGINE] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {made}};
  configuration->attributes[CUDNN_ATTR_ENGINECFG_KNOB_CHOICES] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {knob}};
  return configuration;
}

inline cudnnStatus_t finalize(Record& record) {
  for (const Rule& rule : rules_of(record.type))
    if (rule.least > 0) (void)record.at(rule.name);
  switch (record.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: check_tensor(record); return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR: return check_windows(record);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR: return check_pass(record);
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR: check_sums(record); return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: check_graph(record); return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: ++dnn.asked; return answer(dnn.heuristics, "no engine");
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      record.engine = find_engine(record.value<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
      return answer(record.engine ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED, "no such engine");
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR: {
      const Attribute& knobs = record.at(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
      const bool fits = knobs.count == 1 && knobs.held[0]->value<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE) ==
                                                record.record(CUDNN_ATTR_ENGINECFG_ENGINE).engine->knob;
      return answer(fits ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM, "a knob's value");
    }
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
      ++dnn.planned;
      const DnnEngine* const engine =
          record.record(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).record(CUDNN_ATTR_ENGINECFG_ENGINE).engine;
      return answer(engine->ready, "the engine takes no such pass");
    }
    default: return CUDNN_STATUS_SUCCESS;
  }
}

template <class T>
double number(const void* data, std::int64_t at) {
  const T value = static_cast<const T*>(data)[at];
  if constexpr (sizeof(T) == 2) return static_cast<double>(static_cast<float>(value));
  else return static_cast<double>(value);
}
/// All of the pass's products: sums in float64, rounded once. As cuDNN's may, relu turns NaN into 0.
template <class T>
void compute(const Record& operation, const Record& results, void* x, void* w, void* y, const void* bias, bool relu) {
  const Operands o(operation);
  const auto xs = o.strides(*o.x), ws = o.strides(*o.w), ys = o.strides(results);
  const auto xe = o.extents(*o.x), we = o.extents(*o.w), ye = o.extents(*o.y);
  const auto before = o.option(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const auto stride = o.option(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
             step = o.option(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  const std::size_t dims = before.size();
  const bool forward = o.pass == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  const bool of_data = o.pass == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  void* const result = forward ? y : of_data ? x : w;
  std::map<std::int64_t, double> sums;  // by the element's place
  const auto& re = forward ? ye : of_data ? xe : we;
  const auto& rs = forward ? ys : of_data ? xs : ws;
  std::vector<std::int64_t> at(re.size());
  const auto next = [](std::vector<std::int64_t>& index, const std::vector<std::int64_t>& extents) {
    for (std::size_t d = extents.size(); d-- > 0; index[d] = 0)
      if (++index[d] < extents[d]) return true;
    return false;
  };
  const auto place = [](const std::vector<std::int64_t>& index, const std::vector<std::int64_t>& strides) {
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < index.size(); ++d) sum += index[d] * strides[d];
    return sum;
  };
  do sums[place(at, rs)] = bias ? number<T>(bias, at[1]) : o.beta != 0 ? number<T>(result, place(at, rs)) : 0;
  while (next(at, re));
  const std::int64_t group_out = ye[1] / (xe[1] / we[1]);
  std::vector<std::int64_t> yi(ye.size()), wi(we.size()), xi(xe.size());
  do {
    std::fill(wi.begin(), wi.end(), 0);
    std::vector<std::int64_t> taps(we.begin() + 1, we.end()), tap(taps.size());
    do {
      wi[0] = yi[1];
      std::copy(tap.begin(), tap.end(), wi.begin() + 1);
      xi[0] = yi[0], xi[1] = yi[1] / group_out * we[1] + tap[0];
      bool inside = true;
      for (std::size_t d = 0; d < dims; ++d) {
        xi[d + 2] = yi[d + 2] * stride[d] + tap[d + 1] * step[d] - before[d];
        inside &= xi[d + 2] >= 0 && xi[d + 2] < xe[d + 2];
      }
      if (!inside) continue;
      const std::int64_t px = place(xi, xs), pw = place(wi, ws), py = place(yi, ys);
      if (forward) sums[py] += number<T>(x, px) * number<T>(w, pw);
      else if (of_data) sums[px] += number<T>(y, py) * number<T>(w, pw);
      else sums[pw] += number<T>(y, py) * number<T>(x, px);
    } while (next(tap, taps));
  } while (next(yi, ye));
  for (const auto& [where, sum] : sums)
    static_cast<T*>(result)[where] = static_cast<T>(static_cast<float>(!relu || sum > 0 ? sum : 0));
}
/// The sums of each channel of a result, and of its squares.
template <class T>
void sum_channels(const Record& results, const void* y, float* sums, float* squares) {
  const auto extents = Operands::extents(results), strides = Operands::strides(results);
  std::vector<double> all(static_cast<std::size_t>(2 * extents[1]));
  std::vector<std::int64_t> at(extents.size());
  for (bool more = true; more;) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < at.size(); ++d) place += at[d] * strides[d];
    const double value = number<T>(y, place);
    all[static_cast<std::size_t>(at[1])] += value, all[static_cast<std::size_t>(extents[1] + at[1])] += value * value;
    more = false;
    for (std::size_t d = at.size(); d-- > 0 && !more;)
      if (++at[d] < extents[d]) more = true;
      else at[d] = 0;
  }
  for (std::int64_t c = 0; c < extents[1]; ++c) {
    sums[c] = static_cast<float>(all[static_cast<std::size_t>(c)]);
    squares[c] = static_cast<float>(all[static_cast<std::size_t>(extents[1] + c)]);
  }
}
}  // namespace dnn_detail
}  // namespace simulated

#include "cudnn_graph_stand_in.hpp"

extern "C" {
using simulated::stop;
using namespace simulated::dnn_detail;

size_t cudnnGetVersion() { return simulated::dnn.version; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS: return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH: return "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH";
    case CUDNN_STATUS_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
    default: return "another status of cuDNN";
  }
}
void cudnnGetLastErrorString(char* message, size_t size) { std::snprintf(message, size, "%s", last_error().c_str()); }
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (simulated::dnn.creation != CUDNN_STATUS_SUCCESS) return answer(simulated::dnn.creation, "nothing answers");
  void* memory = nullptr;  // as cuDNN does, which no capture of the caller's mode allows
  if (cudaMalloc(&memory, 64) != cudaSuccess) return CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
  (void)cudaFree(memory);
  *handle = reinterpret_cast<cudnnHandle_t>(new Handle);
  ++simulated::dnn.handles;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<Handle*>(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  reinterpret_cast<Handle*>(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  (void)rules_of(type);
  *descriptor = new Slot{std::make_shared<Record>(Record{type})};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete &slot(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  Record& record = *slot(descriptor).record;
  if (record.is_final) stop("cuDNN: an attribute of a final descriptor");
  for (const Rule& rule : rules_of(record.type)) {
    if (rule.name != name) continue;
    if (rule.type != type || count < rule.least || count > rule.most || !values)
      stop("cuDNN: an attribute of another type or number");
    Attribute attribute{type, count};
    for (int64_t i = 0; i < count && type == CUDNN_TYPE_BACKEND_DESCRIPTOR; ++i) {
      attribute.held.push_back(slot(static_cast<const cudnnBackendDescriptor_t*>(values)[i]).record);
      if (!attribute.held.back()->is_final) stop("cuDNN: an attribute that is not final");
    }
    if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      const auto* const bytes = static_cast<const unsigned char*>(values);
      attribute.bytes.assign(bytes, bytes + static_cast<std::size_t>(count) * bytes_of(type));
    }
    record.attributes[name] = std::move(attribute);
    return CUDNN_STATUS_SUCCESS;
  }
  stop("cuDNN: an attribute that the descriptor does not have");
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Record& record = *slot(descriptor).record;
  if (record.is_final) stop("cuDNN: a descriptor that is final already");
  const cudnnStatus_t status = finalize(record);
  record.is_final = status == CUDNN_STATUS_SUCCESS;
  return status;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t asked, int64_t* count, void* values) {
  Record& record = *slot(descriptor).record;
  if (!record.is_final) stop("cuDNN: an attribute of a descriptor that is not final");
  const auto give = [&](const Held& held, int64_t at) {
    Record& target = *slot(static_cast<cudnnBackendDescriptor_t*>(values)[at]).record;
    if (target.is_final || target.type != held->type || type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
      stop("cuDNN: an answer into a descriptor of another kind");
    slot(static_cast<cudnnBackendDescriptor_t*>(values)[at]).record = held;
  };
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    const bool fallback = record.value<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_FALLBACK;
    *count = 0;
    const Held graph = record.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).held[0];
    const auto& operations = graph->at(CUDNN_ATTR_OPERATIONGRAPH_OPS).held;
    const auto computes = [&](const simulated::DnnEngine& engine) {
      return !is_convolution(*operations[0]) || Epilogue(operations).is_computed_by(engine);
    };
    for (const simulated::DnnEngine& engine : simulated::dnn.engines)
      if (engine.is_fallback == fallback && computes(engine) && *count < asked)
        give(configuration_of(engine, graph), (*count)++);
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
    const auto& notes = record.engine->notes;
    if (type != CUDNN_TYPE_NUMERICAL_NOTE) stop("cuDNN: notes of another type");
    *count = static_cast<int64_t>(notes.size());
    if (!notes.empty()) std::memcpy(values, notes.data(), sizeof notes[0] * std::min<std::size_t>(notes.size(), asked));
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    if (type != CUDNN_TYPE_INT64) stop("cuDNN: a workspace of another type");
    *static_cast<int64_t*>(values) = workspace_of(record), *count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  const Attribute& attribute = record.at(name);
  if (attribute.type != type) stop("cuDNN: an attribute of another type");
  *count = attribute.count;
  for (int64_t i = 0; i < std::min(asked, attribute.count) && !attribute.held.empty(); ++i)
    give(attribute.held[static_cast<std::size_t>(i)], i);
  if (attribute.held.empty()) std::memcpy(values, attribute.bytes.data(), attribute.bytes.size());
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t given, cudnnBackendDescriptor_t plan_given,
                                  cudnnBackendDescriptor_t pack_given) {
  const auto& handle = *reinterpret_cast<Handle*>(given);
  const Record &plan = *slot(plan_given).record, &pack = *slot(pack_given).record;
  if (!handle.stream || !plan.is_final || !pack.is_final) stop("cuDNN: a launch before its time");
  if (plan.value<cudnnHandle_t>(400) != given) stop("cuDNN: a plan for another handle");
  const Record& engine = plan.record(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).record(CUDNN_ATTR_ENGINECFG_ENGINE);
  const auto operations = engine.record(CUDNN_ATTR_ENGINE_OPERATION_GRAPH).at(CUDNN_ATTR_OPERATIONGRAPH_OPS).held;
  const Held operation = operations[0];
  const auto names = pack.values<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.values<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (!is_convolution(*operation)) {
    if (engine.engine->runs != CUDNN_STATUS_SUCCESS) return answer(engine.engine->runs, "the launch failed");
    ++simulated::dnn.launched;
    simulated::dnn.engine = engine.engine->index;
    const GraphRun run(operations, names, pointers);
    simulated::perform(handle.stream, std::make_shared<simulated::Node>(simulated::Node{[=] { run(); }}));
    return CUDNN_STATUS_SUCCESS;
  }
  const Operands o(*operation);
  const Epilogue epilogue(operations);
  const std::size_t operands = epilogue.sums ? 5 : epilogue.bias ? 4 : 3;
  if (names.size() != operands || pointers.size() != operands) stop("cuDNN: a launch with too few operands, or many");
  simulated::dnn.alignment = 1 << 30;
  const auto pointer = [&](const Record& tensor) {
    const auto alignment = tensor.value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    simulated::dnn.alignment = std::min(simulated::dnn.alignment, alignment);
    for (std::size_t i = 0; i < operands; ++i) {
      if (names[i] != tensor.value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)) continue;
      if (!pointers[i] || reinterpret_cast<std::uintptr_t>(pointers[i]) % static_cast<std::uintptr_t>(alignment) != 0)
        stop("cuDNN: an operand that is not aligned as it was said");
      return pointers[i];
    }
    stop("cuDNN: an operand without memory");
  };
  void *const x = pointer(*o.x), *const w = pointer(*o.w), *const y = pointer(*epilogue.result);
  void* const bias = epilogue.bias ? pointer(*epilogue.bias) : nullptr;
  const auto sums_at = [&](int name) {
    return epilogue.sums ? static_cast<float*>(pointer(epilogue.sums->record(name))) : nullptr;
  };
  float *const sums = sums_at(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC), *const squares = sums_at(
                                                                          CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC);
  void* const workspace = pack.value<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const auto bytes = static_cast<std::size_t>(workspace_of(plan));
  if (bytes > 0 && !workspace) stop("cuDNN: a launch without its workspace");
  if (engine.engine->runs != CUDNN_STATUS_SUCCESS) return answer(engine.engine->runs, "the launch failed");
  ++simulated::dnn.launched;
  simulated::dnn.engine = engine.engine->index, simulated::dnn.images = images_of(engine), simulated::dnn.beta = o.beta;
  simulated::dnn.x_strides = o.strides(*o.x), simulated::dnn.w_strides = o.strides(*o.w),
  simulated::dnn.y_strides = o.strides(*epilogue.result), simulated::dnn.has_bias = bias != nullptr,
  simulated::dnn.has_relu = epilogue.relu, simulated::dnn.has_sums = sums != nullptr;
  reinterpret_cast<simulated::Stream*>(handle.stream)->clock += engine.engine->milliseconds;
  const auto type = o.x->value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  const auto pass = [=, held = operations] {  // with the records that the epilogue refers to
    if (bytes > 0) std::memset(workspace, 0xa5, bytes);
    if (type == CUDNN_DATA_FLOAT) compute<float>(*operation, *epilogue.result, x, w, y, bias, epilogue.relu);
    else if (type == CUDNN_DATA_HALF) compute<__half>(*operation, *epilogue.result, x, w, y, bias, epilogue.relu);
    else if (type == CUDNN_DATA_BFLOAT16)
      compute<__nv_bfloat16>(*operation, *epilogue.result, x, w, y, bias, epilogue.relu);
    else stop("cuDNN: another type");
    if (sums && type == CUDNN_DATA_HALF) sum_channels<__half>(*epilogue.result, y, sums, squares);
    else if (sums && type == CUDNN_DATA_BFLOAT16) sum_channels<__nv_bfloat16>(*epilogue.result, y, sums, squares);
    else if (sums) sum_channels<float>(*epilogue.result, y, sums, squares);
  };
  simulated::perform(handle.stream, std::make_shared<simulated::Node>(simulated::Node{pass}));
  return CUDNN_STATUS_SUCCESS;
}
}  // extern "C"
