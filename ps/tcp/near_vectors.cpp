#include "ps/tcp/near_vectors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <limits>

#include "runtime/base/error.h"

namespace scavenger::ps {
namespace {

constexpr const char* kWhere = "vectors of a worker on the same host";

[[noreturn]] void refuse_vectors(const char* what) {
  throw ProtocolError({.what = what,
                       .where = kWhere,
                       .remedy = "check that all processes are of one version and one job"});
}

// Returns the bytes of one vector, rounded up to whole pages, so that each can be mapped
// separately.
std::uint64_t vector_bytes(std::uint64_t flat_size) {
  return whole_pages(flat_size * sizeof(float));
}

template <typename Number>
Number number_at(std::span<const std::byte> bytes, std::size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

bool fits(std::uint64_t offset, std::uint64_t bytes, std::uint64_t file_bytes) {
  return offset == whole_pages(offset) && offset <= file_bytes && bytes <= file_bytes - offset;
}

}  // namespace

// Both processes run on one host, so they have the same byte order.
std::array<std::byte, kNearPlaceBytes> encode(const NearPlace& place) {
  std::array<std::byte, kNearPlaceBytes> bytes{};
  std::memcpy(bytes.data(), &place.pid, 8);
  std::memcpy(bytes.data() + 8, &place.file, 4);
  std::memcpy(bytes.data() + 16, &place.weights_offset, 8);
  std::memcpy(bytes.data() + 24, &place.gradients_offset, 8);
  return bytes;
}

NearPlace decode_near_place(std::span<const std::byte, kNearPlaceBytes> bytes) {
  const NearPlace place{number_at<std::int64_t>(bytes, 0), number_at<std::int32_t>(bytes, 8),
                        number_at<std::uint64_t>(bytes, 16), number_at<std::uint64_t>(bytes, 24)};
  if (place.pid <= 0 || place.file < 0 || number_at<std::uint32_t>(bytes, 12) != 0)
    refuse_vectors("there is no such process or file");
  return place;
}

NearVectors::NearVectors(std::uint64_t flat_size)
    : flat_size_(flat_size), file_(make_shared_file()) {
  const std::uint64_t bytes = vector_bytes(flat_size);
  place_ = {::getpid(), file_.get(), 0, bytes};
  reserve_shared_memory(file_.get(), 0, 2 * bytes);
  weights_ = std::make_unique<SharedMapping>(file_.get(), place_.weights_offset, bytes);
  gradients_ = std::make_unique<SharedMapping>(file_.get(), place_.gradients_offset, bytes);
}

NearVectors::NearVectors(const NearPlace& place, std::uint64_t flat_size)
    : flat_size_(flat_size), file_(open_shared_file_of(place.pid, place.file)), place_(place) {
  if (file_.get() < 0)
    throw ConnectionError(
        {.what = fmt::format("file {} of process {} cannot be shared", place.file, place.pid),
         .where = kWhere,
         .remedy = "let all processes of a host run as one user, or set sync.transport to tcp"});
  const std::uint64_t bytes = vector_bytes(flat_size);
  const std::uint64_t file_bytes = shared_file_bytes(file_.get());
  if (!fits(place.weights_offset, bytes, file_bytes) ||
      !fits(place.gradients_offset, bytes, file_bytes))
    refuse_vectors("the file is shorter than the model");
  weights_ = std::make_unique<SharedMapping>(file_.get(), place.weights_offset, bytes);
  gradients_ = std::make_unique<SharedMapping>(file_.get(), place.gradients_offset, bytes);
}

std::span<float> NearVectors::weights() const {
  return {reinterpret_cast<float*>(weights_->data()), flat_size_};
}

std::span<float> NearVectors::gradients() const {
  return {reinterpret_cast<float*>(gradients_->data()), flat_size_};
}

}  // namespace scavenger::ps
