// Learns from which language a family name comes, letter by letter. Names have unequal lengths, so batches are packed
// sequences.
//
//     names --device cpu
//     names --names data/names --device cpu      a folder with a file LANGUAGE.txt for each language, a name a line

#include "support/names.hpp"
#include "support/arguments.hpp"

#include <locus/locus.hpp>
#include <locus/nn/recurrent.hpp>

#include <cstdio>

using namespace locus;

using Packed = nn::PackedSequence<Tensor<std::int64_t>>;

/// Names as bytes of UTF-8, and the number of the language of each.
struct Names {
  std::vector<Tensor<std::int64_t>> letters;
  std::vector<std::int64_t> languages;

  void add(const std::string& name, std::int64_t language) {
    std::vector<std::int64_t> bytes;
    for (const char letter : name) bytes.push_back(static_cast<unsigned char>(letter));
    letters.push_back(from(bytes));
    languages.push_back(language);
  }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(languages.size()); }
  /// The names with these numbers.
  [[nodiscard]] Names at(Span<const std::int64_t> numbers) const {
    Names some;
    for (const std::int64_t number : numbers) {
      some.letters.push_back(letters[static_cast<std::size_t>(number)]);
      some.languages.push_back(languages[static_cast<std::size_t>(number)]);
    }
    return some;
  }
  [[nodiscard]] Packed packed() const { return nn::pack_sequence(letters, {.enforce_sorted = false}); }
};

/// A score for each language, from the ends of both directions.
template <Device D>
struct Classifier : nn::Layer<Classifier<D>, float, D> {
  nn::Embedding<float, D> letters;
  nn::LSTM<float, D> lstm;
  nn::Dropout dropout{0.3};
  nn::Linear<float, D> head;
  Classifier(std::int64_t languages, D device)
      : letters(256, 16, {}, device),
        lstm(16, 48, {.bidirectional = true}, device),
        head(96, languages, true, device) {}

  /// Vectors of letters, packed -> (names, languages)
  auto forward(const auto& vectors) const {
    const auto state = lstm(vectors).state;
    return head(dropout(concat({state.h.select(0, 0), state.h.select(0, 1)}, 1)));
  }
  void members(const auto& visit) const {
    visit("letters", letters);
    visit("lstm", lstm);
    visit("head", head);
  }
};

/// The share of names whose language has the highest score.
template <Device D>
double accuracy(const Classifier<D>& model, const Names& names, D device) {
  const auto packed = names.packed().to(device);
  const auto best = argmax(model.forward(packed.with_data(model.letters(packed.data))), 1);
  return mean((best == from(names.languages).to(device)).template as<float>()).item();
}

template <Device D>
bool train(const std::vector<Language>& languages, int epochs, D device) {
  Names known, unseen;  // every fifth name of a language is not trained on
  for (std::size_t l = 0; l < languages.size(); ++l)
    for (std::size_t i = 0; i < languages[l].names.size(); ++i)
      (i % 5 == 4 ? unseen : known).add(languages[l].names[i], static_cast<std::int64_t>(l));

  const Classifier<D> model(static_cast<std::int64_t>(languages.size()), device);
  optim::Adam optimizer{model.parameters(), {.lr = 0.01}};
  std::printf("%d languages, %d names to learn from, %d unseen\nepoch    loss  accuracy\n",
              static_cast<int>(languages.size()), static_cast<int>(known.size()), static_cast<int>(unseen.size()));
  double seen = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const Tensor order = randperm(known.size());
    double loss_sum = 0;
    for (std::int64_t begin = 0; begin < known.size(); begin += 32) {
      const std::int64_t end = begin + 32 < known.size() ? begin + 32 : known.size();
      const Names batch = known.at({order.data() + begin, static_cast<std::size_t>(end - begin)});
      const auto packed = batch.packed().to(device);
      const auto scores = model.forward(packed.with_data(model.letters(trace(packed.data))));
      const auto loss = nn::cross_entropy(scores, from(batch.languages).to(device));
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      loss_sum += static_cast<double>(loss.item()) * static_cast<double>(batch.size());
    }
    if (epoch % 5 != 0 && epoch != epochs) continue;
    seen = accuracy(model, known, device);
    std::printf("%5d  %6.3f  %8.3f\n", epoch, loss_sum / static_cast<double>(known.size()), seen);
  }
  std::printf("accuracy on unseen names: %.3f, by chance %.3f\n", accuracy(model, unseen, device),
              1.0 / static_cast<double>(languages.size()));
  return seen > 0.5;
}

int main(int argc, char** argv) try {
  const Arguments arguments(argc, argv, {"--device", "--names", "--epochs"});
  const std::string folder = arguments.text("--names", "");
  const int epochs = arguments.number("--epochs", "20", 1);
  const auto languages = folder.empty() ? common_names() : read_names(folder);
  manual_seed(0);
  const auto run = [&]<Device D>(D device) { return train(languages, epochs, device); };
  return with_device(device_from(argc, argv), run) ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "names: %s\n", error.what());
  return 1;
}
