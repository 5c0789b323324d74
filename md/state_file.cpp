#include "md/state_file.h"

#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <system_error>
#include <type_traits>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"

namespace scavenger::md {
namespace {

static_assert(std::endian::native == std::endian::little);
constexpr std::string_view kMagic = "SCAVMD01";
constexpr std::size_t kMostElements = std::size_t{1} << 26;

CheckpointError damaged(const std::string& where) {
  return CheckpointError({.what = "this is not a whole state of a simulation",
                          .where = where,
                          .remedy = "remove it to begin again, or restore a copy"});
}

class Encoder final {
 public:
  template <typename... Fields>
  void operator()(const Fields&... fields) {
    (add(fields), ...);
  }
  std::string bytes;

 private:
  template <typename Value>
  void add(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(Value));
  }
  void add(const std::string& text) {
    add(static_cast<std::uint64_t>(text.size()));
    bytes += text;
  }
  template <typename Value>
  void add(const std::vector<Value>& values) {
    add(static_cast<std::uint64_t>(values.size()));
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
  }
};

class Decoder final {
 public:
  Decoder(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}
  template <typename... Fields>
  void operator()(Fields&... fields) {
    (take(fields), ...);
  }
  bool is_at_end() const { return bytes_.empty(); }

 private:
  void copy(void* to, std::size_t size) {
    if (bytes_.size() < size) throw damaged(where_);
    if (size > 0) std::memcpy(to, bytes_.data(), size);
    bytes_.remove_prefix(size);
  }
  template <typename Value>
  void take(Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    copy(&value, sizeof(Value));
  }
  std::size_t taken_size(std::size_t element) {
    std::uint64_t size = 0;
    take(size);
    if (size > kMostElements || size * element > bytes_.size()) throw damaged(where_);
    return static_cast<std::size_t>(size);
  }
  void take(std::string& text) {
    text.resize(taken_size(1));
    copy(text.data(), text.size());
  }
  template <typename Value>
  void take(std::vector<Value>& values) {
    values.resize(taken_size(sizeof(Value)));
    copy(values.data(), values.size() * sizeof(Value));
  }

  std::string_view bytes_;
  const std::string& where_;
};

std::string digest_of(std::string_view bytes) {
  const Digest digest = sha256(std::as_bytes(std::span(bytes)));
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::filesystem::path newest(const std::filesystem::path& folder) {
  return folder / "state.bin";
}
std::filesystem::path before(const std::filesystem::path& folder) {
  return folder / "state.before";
}

}  // namespace

std::string encode_state(const State& state) {
  Encoder encoder;
  encoder.bytes = kMagic;
  encoder(state.identity, state.phase.step, state.phase.positions, state.phase.velocities);
  Averages averages = state.averages;
  averages.archive(encoder);
  encoder.bytes += digest_of(encoder.bytes);
  return std::move(encoder.bytes);
}

State decode_state(std::string_view bytes, const std::string& where) {
  constexpr std::size_t kDigest = sizeof(Digest);
  if (bytes.size() < kMagic.size() + kDigest || !bytes.starts_with(kMagic)) throw damaged(where);
  const std::string_view content = bytes.substr(0, bytes.size() - kDigest);
  if (digest_of(content) != bytes.substr(content.size())) throw damaged(where);
  Decoder decoder(content.substr(kMagic.size()), where);
  State state;
  decoder(state.identity, state.phase.step, state.phase.positions, state.phase.velocities);
  state.averages.archive(decoder);
  const bool is_whole = decoder.is_at_end() && state.averages.is_consistent() &&
                        state.phase.positions.size() == state.phase.velocities.size();
  if (!is_whole) throw damaged(where);
  return state;
}

void write_state(const State& state, const std::filesystem::path& folder) {
  const std::string bytes = encode_state(state);
  std::error_code no_state_yet;
  std::filesystem::rename(newest(folder), before(folder), no_state_yet);
  write_file_atomically(newest(folder), bytes);
}

std::optional<State> read_state(const std::filesystem::path& folder) {
  std::optional<CheckpointError> first_damage;
  for (const std::filesystem::path& path : {newest(folder), before(folder)}) {
    if (!std::filesystem::exists(path)) continue;
    try {
      return decode_state(read_file(path), path.string());
    } catch (const CheckpointError& damage) {
      if (!first_damage) first_damage = damage;
    }
  }
  if (first_damage) throw CheckpointError(*first_damage);
  return std::nullopt;
}

}  // namespace scavenger::md
