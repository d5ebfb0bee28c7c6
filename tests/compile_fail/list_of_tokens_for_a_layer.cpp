// Calling a layer on the tokens of a tokenizer, which are a std::vector.
// because: a layer takes tensors: a list has no device
// expect-error: the_argument_is_a_list_of_numbers_not_a_tensor|the argument is a list of numbers, not a tensor
// expect-error: make_a_tensor_of_it_with_from_v|make a tensor of it with from\(v\)
#include <locus/locus.hpp>

#include <vector>

using namespace locus;

auto mistake(const nn::Embedding<float, Cpu>& layer, const std::vector<std::int64_t>& tokens) {
#ifdef LOCUS_MUST_FAIL
  return layer(tokens);
#else
  return layer(from(tokens));
#endif
}
