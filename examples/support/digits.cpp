#include "digits.hpp"

using locus::data::Mnist;

Mnist read_digits(const std::string& folder, std::uint64_t seed) {
  const locus::data::MnistOptions split{.seed = seed};
  return folder.empty() ? Mnist::draw(20000, split) : Mnist::open(folder, split);
}
