// Learns to predict the next character, and continues a text.
//
//     characters --device cpu

#include "support/arguments.hpp"

#include <locus/locus.hpp>

#include <algorithm>
#include <cstdio>

using namespace locus;

constexpr std::string_view alphabet = " abcdefghijklmnopqrstuvwxyz,";
std::int64_t number_of(char character) { return static_cast<std::int64_t>(alphabet.find(character)); }

/// A custom data set: six characters of a text, and the character that follows them.
struct Text {
  static constexpr std::int64_t context = 6;
  std::string_view text;
  std::int64_t size() const { return static_cast<std::int64_t>(text.size()) - context; }
  data::Fields<std::int64_t, std::int64_t> fields() const { return {{context}, {}}; }
  void write(std::int64_t i, Span<std::int64_t> before, Span<std::int64_t> next) const {
    const char* const at = text.data() + i;
    std::transform(at, at + context, before.data(), number_of);
    next[0] = number_of(at[context]);
  }
};

constexpr std::string_view rhyme =
    "this is the house that jack built, this is the malt that lay in the house that jack built, this is the rat that "
    "ate the malt that lay in the house that jack built, this is the cat that killed the rat that ate the malt";

template <Device D>
bool train(D device) {
  nn::Sequential model{nn::Embedding<float, D>{28, 8, {}, device}, nn::Flatten{},
                       nn::Linear<float, D>{8 * Text::context, 64, true, device}, nn::ReLU{},
                       nn::Linear<float, D>{64, 28, true, device}};
  optim::Adam optimizer{model.parameters(), {.lr = 0.01}};
  auto batches = data::loader(Text{rhyme}, {.batch_size = 32, .shuffle = true}, device);
  History history;
  fit(model, optimizer, batches, batches, history,
      {.epochs = 60, .on_epoch = [](const EpochRecord& epoch) { return epoch.valid_accuracy < 0.98; }});
  std::string text = "this is the ";
  while (text.size() < 90) {
    std::vector<std::int64_t> last(Text::context);
    std::transform(text.end() - Text::context, text.end(), last.begin(), number_of);
    const std::int64_t best = argmax(model(from(last, {1, Text::context}, device))).item();
    text += alphabet[static_cast<std::size_t>(best)];
  }
  std::printf("%s%s\n", history.table().c_str(), text.c_str());
  return history.last().valid_accuracy > 0.9;
}

int main(int argc, char** argv) try {
  const Arguments checked(argc, argv, {"--device"});
  manual_seed(0);
  return with_device(device_from(argc, argv), []<Device D>(D device) { return train(device); }) ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "characters: %s\n", error.what());
  return 1;
}
