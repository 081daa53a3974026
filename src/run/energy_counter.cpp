#include "run/energy_counter.h"

#include "run/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <thread>

namespace kawara::run {
namespace {

namespace fs = std::filesystem;

/// One counter of microjoules, which begins at 0 again after its last value.
class Zone {
public:
  Zone(fs::path folder, int64_t last, int64_t now)
      : folder_(std::move(folder)), last_value_(last), before_(now) {}

  static int64_t number_in(const fs::path& file) {
    std::ifstream stream(file);
    int64_t value = -1;
    return stream >> value ? value : -1;
  }
  double joules() {
    const int64_t now = number_in(folder_ / "energy_uj");
    if (now >= 0) {
      microjoules_ += now - before_ + (now < before_ ? last_value_ + 1 : 0);
      before_ = now;
    }
    return static_cast<double>(microjoules_) * 1e-6;
  }

private:
  fs::path folder_;
  int64_t last_value_, before_, microjoules_ = 0;
};

class Rapl : public EnergyCounter {
public:
  Rapl(std::vector<Zone> zones, std::string names)
      : zones_(std::move(zones)), names_(std::move(names)) {}
  std::string name() const override { return "RAPL: " + names_; }
  double joules() override {
    double sum = 0;
    for (Zone& zone : zones_)
      sum += zone.joules();
    return sum;
  }

private:
  std::vector<Zone> zones_;
  std::string names_;
};

/// Whether the zone is a package, or a part that no package includes. Cores and graphics are parts
/// of their package.
bool counts_apart(const std::string& name) { return name.starts_with("package") || name == "dram"; }

class Nvml : public EnergyCounter {
public:
  using Status = int;
  using Counter = Status(void*, unsigned long long*);

  Nvml(std::shared_ptr<Library> library, Counter* counter, void* device)
      : library_(std::move(library)), counter_(counter), device_(device) {}
  std::string name() const override { return "NVML: the whole board"; }
  double joules() override {
    unsigned long long millijoules = 0;
    if (counter_(device_, &millijoules) == 0)
      joules_ = static_cast<double>(millijoules) * 1e-3;
    return joules_;
  }

private:
  std::shared_ptr<Library> library_;
  Counter* counter_;
  void* device_;
  double joules_ = 0;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr double kRest = 2; ///< seconds

double idle_watts(EnergyCounter& counter) {
  const double begin = now(), before = counter.joules();
  std::this_thread::sleep_for(std::chrono::duration<double>(kRest));
  return (counter.joules() - before) / (now() - begin);
}

} // namespace

Result<std::unique_ptr<EnergyCounter>, std::string> processor_counter(const std::string& folder) {
  std::error_code failed;
  std::vector<fs::path> folders;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().filename().string().starts_with("intel-rapl:"))
      folders.push_back(at->path());
  std::sort(folders.begin(), folders.end());
  if (folders.empty())
    return fail(fmt::format(
        "Linux shows no counter of RAPL in {}; virtual machines and Arm servers have none",
        folder));
  std::vector<Zone> zones;
  std::string names;
  for (const fs::path& zone : folders) {
    std::string name;
    std::ifstream(zone / "name") >> name;
    if (!counts_apart(name))
      continue;
    const int64_t value = Zone::number_in(zone / "energy_uj");
    if (value < 0)
      return fail(fmt::format("{} cannot be read; only root may, on most machines",
                              (zone / "energy_uj").string()));
    zones.emplace_back(zone, Zone::number_in(zone / "max_energy_range_uj"), value);
    names += (names.empty() ? "" : ", ") + name;
  }
  if (zones.empty())
    return fail(fmt::format("none of RAPL's zones in {} is a package or memory", folder));
  return std::unique_ptr<EnergyCounter>(std::make_unique<Rapl>(std::move(zones), std::move(names)));
}

Result<std::unique_ptr<EnergyCounter>, std::string> gpu_counter(const std::string& pci_bus) {
  const auto library = Library::open({"libnvidia-ml.so.1", "libnvidia-ml.so"});
  if (!library)
    return fail(std::string("NVML, a part of NVIDIA's driver (libnvidia-ml.so.1), was not found"));
  const auto init = library->function<Nvml::Status()>("nvmlInit_v2");
  const auto find =
      library->function<Nvml::Status(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  const auto counter = library->function<Nvml::Counter>("nvmlDeviceGetTotalEnergyConsumption");
  if (init == nullptr || find == nullptr || counter == nullptr)
    return fail(std::string("this version of NVML has no counter of energy"));
  void* device = nullptr;
  if (init() != 0 || find(pci_bus.c_str(), &device) != 0)
    return fail(fmt::format("NVML does not know the GPU at {}", pci_bus));
  unsigned long long millijoules = 0;
  if (counter(device, &millijoules) != 0)
    return fail(std::string("NVML has no counter of energy for this GPU"));
  return std::unique_ptr<EnergyCounter>(std::make_unique<Nvml>(library, counter, device));
}

double MeasuredEnergy::median_joules() const { return summarise(joules, 1).median; }

double MeasuredEnergy::watts() const { return seconds > 0 ? median_joules() / seconds : 0; }

Result<MeasuredEnergy, Diagnostic> measure_energy(EnergyCounter& counter, const TakeTimes& take,
                                                  double seconds) {
  MeasuredEnergy made;
  made.counter = counter.name();
  made.idle_watts = idle_watts(counter);
  MeasureOptions options;
  options.warm_up_seconds = seconds / 6;
  options.sample_seconds = seconds;
  options.samples = 3;
  options.most_calls = INT64_MAX;
  double before = 0;
  std::vector<double> stretches;
  options.sampling = [&] { before = counter.joules(); };
  options.sampled = [&] { stretches.push_back(counter.joules() - before); };
  KAWARA_TRY(const Timing timing, take(options));
  made.seconds = timing.median;
  made.stretch_seconds = timing.min * static_cast<double>(timing.batch);
  for (const double joules : stretches)
    made.joules.push_back(joules / static_cast<double>(timing.batch));
  return made;
}

} // namespace kawara::run
