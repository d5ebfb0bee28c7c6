#pragma once
// Keys of products, with all inputs of the choice of an algorithm, and tables of plans by key. Needs no toolkit.

#include <locus/core/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::detail {

/// The form of a computation: everything that a library's choice of an algorithm depends on, besides library and GPU.
template <std::size_t n>
struct PlanKey {
  static constexpr std::size_t size = n;
  std::array<std::int64_t, size> values;
  [[nodiscard]] bool operator==(const PlanKey& other) const {
    for (std::size_t i = 0; i < size; ++i)
      if (values[i] != other.values[i]) return false;
    return true;
  }
  [[nodiscard]] std::size_t hash() const {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::int64_t value : values) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    return static_cast<std::size_t>(hash);
  }
};

/// Of a product, or of a pass of a convolution.
using GemmPlanKey = PlanKey<18>;

/// Plans by their keys; forgets all when full.
template <class Plan, class Key = GemmPlanKey>
class GemmPlanTable {
 public:
  static constexpr std::size_t most_plans = 4096;
  struct Entry {
    Key key;
    Plan plan;
  };

  /// Null where there is none.
  [[nodiscard]] Plan* find(const Key& key) {
    if (entries_.empty()) return nullptr;
    const std::uint32_t index = places_[place_of(key)];
    return index == none ? nullptr : &entries_[index].plan;
  }
  /// Adds a new key. The reference is valid until the next add.
  Plan& add(const Key& key, const Plan& plan) {
    if (entries_.empty() || is_full()) {
      entries_.clear();
      places_.assign(2 * most_plans, none);
    }
    entries_.push_back({key, plan});
    places_[place_of(key)] = static_cast<std::uint32_t>(entries_.size() - 1);
    return entries_.back().plan;
  }
  [[nodiscard]] bool is_full() const { return entries_.size() == most_plans; }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// Where the key is, or where it belongs.
  [[nodiscard]] std::size_t place_of(const Key& key) const {
    std::size_t place = key.hash() % places_.size();
    while (places_[place] != none && !(entries_[places_[place]].key == key)) place = (place + 1) % places_.size();
    return place;
  }
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> places_;  ///< indices of entries, by open addressing on the key's hash
};

}}}  // namespace locus::LOCUS_ABI::cuda::detail
