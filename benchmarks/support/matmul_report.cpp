#include "matmul_report.hpp"

#include <locus/io/json.hpp>
#include <locus/io/json_reader.hpp>
#include <locus/report/plot.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace {

/// The type on the host that compares with a type that only GPUs have.
std::string host_dtype(const std::string& dtype) { return dtype == "tf32" ? "f32" : dtype; }

bool is_series(const Product& a, const Product& b) { return a.device == b.device && a.dtype == b.dtype; }

/// The first product of every device and type.
std::vector<Product> series_of(const std::vector<Product>& products) {
  std::vector<Product> result;
  for (const auto& p : products) {
    if (std::none_of(result.begin(), result.end(), [&](const Product& s) { return is_series(s, p); }))
      result.push_back(p);
  }
  return result;
}

double best_rate(const std::vector<Product>& products, const Product& series) {
  double best = 0;
  for (const auto& p : products)
    if (is_series(p, series) && p.counts()) best = std::max(best, p.gflops(p.time.median));
  return best;
}

const Product* on_host(const std::vector<Product>& products, const Product& gpu) {
  for (const auto& p : products) {
    if (p.on_host() && p.counts() && p.size == gpu.size && p.dtype == host_dtype(gpu.dtype)) return &p;
  }
  return nullptr;
}

/// The smallest size from which the GPU is faster at all sizes measured on both; 0 if it is slower at the largest.
template <class Seconds>
std::int64_t winning_size(const std::vector<Product>& products, const Product& series, const Seconds& seconds,
                          bool& compared) {
  std::int64_t from = 0;
  for (const auto& p : products) {  // sizes ascend
    if (!is_series(p, series) || !p.counts()) continue;
    const Product* host = on_host(products, p);
    if (!host) continue;
    compared = true;
    if (seconds(p) >= host->time.median) from = 0;
    else if (from == 0) from = p.size;
  }
  return from;
}

std::string duration(double seconds) {
  char text[32];
  const auto [factor, unit] = seconds < 1e-3 ? std::pair{1e6, "us"}
                              : seconds < 1  ? std::pair{1e3, "ms"}
                                             : std::pair{1.0, "s"};
  std::snprintf(text, sizeof text, "%.4g %s", seconds * factor, unit);
  return text;
}

/// The width of the column with the names of devices.
int name_width(const std::vector<Product>& products) {
  std::size_t width = 6;
  for (const auto& p : products) width = std::max(width, p.device.size());
  return static_cast<int>(width);
}

void print_winner(const std::vector<Product>& products, const Product& series) {
  bool compared = false;
  const std::int64_t alone = winning_size(
      products, series, [](const Product& p) { return p.time.median; }, compared);
  const std::int64_t with = winning_size(
      products, series, [](const Product& p) { return p.seconds_with_transfer(); }, compared);
  if (!compared) return;
  const auto from = [](std::int64_t size) {
    return size ? "from size " + std::to_string(size) + " on" : std::string("at no size");
  };
  std::printf("%s %s is faster than the CPU %s; with both operands copied there and the result back, %s\n",
              series.device.c_str(), series.dtype.c_str(), from(alone).c_str(), from(with).c_str());
}

void member(locus::io::JsonWriter& json, const char* name, const Quantiles& time) {
  json.key(name);
  if (time.samples == 0) {
    json.value(nullptr);
    return;
  }
  json.begin_object()
      .member("median", time.median)
      .member("p10", time.p10)
      .member("p90", time.p90)
      .member("samples", time.samples)
      .end_object();
}

using Reader = locus::io::detail::JsonReader;

/// The next value as a number; 0 for null.
double number(Reader& json) { return std::strtod(std::string(json.value()).c_str(), nullptr); }

Quantiles read_quantiles(Reader& json) {
  Quantiles time;
  if (json.next() != '{') {
    (void)json.value();
    return time;
  }
  json.object([&](const std::string& key) {
    const double value = number(json);
    if (key == "median") time.median = value;
    else if (key == "p10") time.p10 = value;
    else if (key == "p90") time.p90 = value;
    else if (key == "samples") time.samples = static_cast<std::int64_t>(value);
  });
  return time;
}

Product read_product(Reader& json) {
  Product p;
  json.object([&](const std::string& key) {
    if (key == "device") p.device = json.string();
    else if (key == "dtype") p.dtype = json.string();
    else if (key == "problem") p.problem = json.string();
    else if (key == "size") p.size = static_cast<std::int64_t>(number(json));
    else if (key == "seconds") p.time = read_quantiles(json);
    else if (key == "to_device_seconds") p.to_device = read_quantiles(json);
    else if (key == "to_host_seconds") p.to_host = read_quantiles(json);
    else if (key == "error_over_allowed") p.error = number(json);
    else (void)json.value();
  });
  return p;
}

Environment read_environment(Reader& json) {
  Environment e;
  json.object([&](const std::string& key) {
    if (key == "date") e.date = json.string();
    else if (key == "commit") e.commit = json.string();
    else if (key == "compiler") e.compiler = json.string();
    else if (key == "cpu") e.cpu = json.string();
    else if (key == "gpu") e.gpu = json.string();
    else if (key == "cuda") e.cuda = json.string();
    else if (key == "cores") e.cores = static_cast<int>(number(json));
    else if (key == "threads") e.threads = static_cast<int>(number(json));
    else if (key == "driver") e.driver = static_cast<int>(number(json));
    else (void)json.value();
  });
  return e;
}

void read_members(Reader& json, MatmulResults& results) {
  json.object([&](const std::string& key) {
    if (key == "matmul") return read_members(json, results);
    if (key == "environment") {
      results.environment = read_environment(json);
    } else if (key == "products") {
      json.expect('[');
      if (json.take(']')) return;
      do results.products.push_back(read_product(json));
      while (json.take(','));
      json.expect(']');
    } else {
      (void)json.value();
    }
  });
}

}  // namespace

MatmulResults read_results(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string json = text.str(), name = "'" + path + "'";
  Reader reader(json, name);
  MatmulResults results;
  read_members(reader, results);
  if (results.products.empty())
    locus::fail<locus::DataError>({name, ": no products; expected a file of matmul --json or of scripts/gpu"});
  return results;
}

void print_environment(const Environment& e) {
  std::printf("CPU: %s, %d cores, %d thread%s (%s)\n", e.cpu.c_str(), e.cores, e.threads, e.threads == 1 ? "" : "s",
              e.compiler.c_str());
  if (!e.gpu.empty()) std::printf("GPU: %s (CUDA %s)\n", e.gpu.c_str(), e.cuda.c_str());
}

void print_table(const std::vector<Product>& products) {
  const int width = name_width(products);
  const bool with_gpu = std::any_of(products.begin(), products.end(), [](const Product& p) { return !p.on_host(); });
  std::printf("\n%6s  %-*s  %-5s  %10s  %11s  %6s", "size", width, "device", "type", "GFLOP/s", "median", "best");
  if (with_gpu) std::printf("  %8s  %22s", "vs. CPU", "copies: in, out");
  std::printf("\n");
  for (const auto& p : products) {
    std::printf("%6lld  %-*s  %-5s  ", static_cast<long long>(p.size), width, p.device.c_str(), p.dtype.c_str());
    if (!p.counts()) {
      std::printf("%s\n", p.problem.c_str());
      continue;
    }
    const double rate = p.gflops(p.time.median);
    std::printf("%10.1f  %11s  %4.0f %%", rate, duration(p.time.median).c_str(), 100 * rate / best_rate(products, p));
    const Product* host = p.on_host() ? nullptr : on_host(products, p);
    if (host) std::printf("  %6.3g x", host->time.median / p.time.median);
    else if (p.to_device.samples) std::printf("  %8s", "");
    if (p.to_device.samples) {
      std::printf("  %10s, %10s", duration(p.to_device.median).c_str(), duration(p.to_host.median).c_str());
    }
    std::printf("\n");
  }
  std::printf(
      "\nbest: share of the highest rate of the same device and type. Operands are random and normal, each product was "
      "checked.\n");
  for (const auto& series : series_of(products))
    if (!series.on_host()) print_winner(products, series);
}

void write_json(const std::string& path, const Environment& e, const std::vector<Product>& products) {
  locus::io::JsonWriter json;
  json.begin_object().member("benchmark", "matmul").key("environment").begin_object();
  write_members(json, e).end_object().key("products").begin_array();
  for (const auto& p : products) {
    json.begin_object().member("device", p.device).member("dtype", p.dtype).member("size", p.size);
    json.key("gflops");
    if (p.counts()) json.value(p.gflops(p.time.median));
    else json.value(nullptr);
    member(json, "seconds", p.counts() ? p.time : Quantiles{});
    member(json, "to_device_seconds", p.to_device);
    member(json, "to_host_seconds", p.to_host);
    json.member("error_over_allowed", p.error).member("problem", p.problem).end_object();
  }
  json.end_array().key("gpu_wins_from").begin_array();
  for (const auto& series : series_of(products)) {
    if (series.on_host()) continue;
    bool compared = false;
    const auto alone = winning_size(
        products, series, [](const Product& p) { return p.time.median; }, compared);
    const auto with = winning_size(
        products, series, [](const Product& p) { return p.seconds_with_transfer(); }, compared);
    if (!compared) continue;
    json.begin_object().member("device", series.device).member("dtype", series.dtype);
    json.member("size", alone).member("size_with_transfer", with).end_object();
  }
  json.end_array().end_object();
  locus::io::write_file_atomically(path, json.text());
}

void plot_rates(const std::string& path, const Environment& e, const std::vector<Product>& products) {
  namespace plot = locus::plot;
  plot::Figure figure("Products of square matrices", e.gpu.empty() ? e.cpu : e.cpu + " and " + e.gpu);
  auto& panel = figure.panel("", {.label = "rows and columns", .scale = plot::Scale::log2},
                             {.label = "rate", .unit = "GFLOP/s", .scale = plot::Scale::log10});
  for (const auto& series : series_of(products)) {
    std::vector<double> sizes, rates, with_transfer;
    for (const auto& p : products) {
      if (!is_series(p, series) || !p.counts()) continue;
      sizes.push_back(static_cast<double>(p.size));
      rates.push_back(p.gflops(p.time.median));
      with_transfer.push_back(p.gflops(p.seconds_with_transfer()));
    }
    if (sizes.empty()) continue;
    panel.line(series.device + " " + series.dtype, sizes, rates);
    if (!series.on_host())
      panel.line(series.device + " " + series.dtype + " with copies", sizes, with_transfer, {.dashed = true});
  }
  figure.write(path);
}
