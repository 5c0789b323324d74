#include "ps/shm/segment.h"

#include <string>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger::ps {
namespace {

constexpr std::uint64_t kMagic = 0x3230'4d48'5356'4353;  // "SCVSHM02"

// Where each part starts, in bytes.
struct Offsets {
  explicit Offsets(const SegmentShape& shape) {
    const std::uint64_t chunks = ChunkLayout::count_chunks(shape.flat_size, shape.chunk_bytes);
    vector_bytes = whole_pages(shape.flat_size * sizeof(float));
    counters = whole_pages(sizeof(SegmentHeader));
    queue = counters + whole_pages(chunks * sizeof(ChunkCounter));
    sum_counters = queue + whole_pages(chunks * sizeof(ReadyPlace));
    sum_queue = sum_counters + whole_pages(chunks * sizeof(ChunkCounter));
    norms = sum_queue + whole_pages(chunks * sizeof(ReadyPlace));
    rank_norms = norms + whole_pages(chunks * sizeof(double));
    versions = rank_norms + whole_pages(chunks * kMostWorkers * sizeof(double));
    gradients = versions + 2 * (1 + shape.state_vectors) * vector_bytes;
  }
  std::uint64_t counters, queue, sum_counters, sum_queue, norms, rank_norms, versions, gradients;
  std::uint64_t vector_bytes;
};

[[noreturn]] void refuse(std::string what) {
  throw ProtocolError({.what = std::move(what),
                       .where = "shared memory",
                       .remedy = "check that all processes are of one version and one job"});
}

template <typename Item>
std::span<Item> items_at(std::byte* start, std::uint64_t offset, std::uint64_t count) {
  return {reinterpret_cast<Item*>(start + offset), count};
}

}  // namespace

Segment::Segment(int file, const SegmentShape& shape)
    : file_(file),
      shape_(shape),
      layout_(shape.flat_size, shape.chunk_bytes, 1),
      fixed_(file, 0, Offsets(shape).gradients),
      header_(reinterpret_cast<SegmentHeader*>(fixed_.data())),
      board_(header_->board,
             items_at<ChunkCounter>(fixed_.data(), Offsets(shape).counters, layout_.chunk_count()),
             items_at<ReadyPlace>(fixed_.data(), Offsets(shape).queue, layout_.chunk_count())),
      sum_board_(
          header_->sum_board,
          items_at<ChunkCounter>(fixed_.data(), Offsets(shape).sum_counters, layout_.chunk_count()),
          items_at<ReadyPlace>(fixed_.data(), Offsets(shape).sum_queue, layout_.chunk_count())) {}

void Segment::begin_membership(std::uint64_t iteration, std::uint32_t ranks, bool clips) {
  sum_board_.begin_membership(iteration, ranks);
  // With clipping, one contributor makes the chunks ready to be stepped: the worker that has summed
  // the last chunk.
  board_.begin_membership(iteration, clips ? 1 : ranks);
}

std::unique_ptr<Segment> Segment::create(int file, const SegmentShape& shape) {
  if (iteration_in(file)) return attach(file, shape);
  // Allocates the memory now, so that a lack of it is noticed before training.
  reserve_shared_memory(file, 0, Offsets(shape).gradients);
  std::unique_ptr<Segment> segment(new Segment(file, shape));
  segment->header_->shape = shape;
  std::atomic_ref(segment->header_->magic).store(kMagic, std::memory_order_release);
  return segment;
}

std::unique_ptr<Segment> Segment::attach(int file, const SegmentShape& shape) {
  if (!iteration_in(file)) refuse("it is not a segment yet, or none of ours");
  if (shared_file_bytes(file) < Offsets(shape).gradients) refuse("it is shorter than the model");
  std::unique_ptr<Segment> segment(new Segment(file, shape));
  if (segment->header_->shape != shape) refuse("it is for another model, optimizer or chunk size");
  return segment;
}

std::optional<std::uint64_t> Segment::iteration_in(int file) {
  if (shared_file_bytes(file) < whole_pages(sizeof(SegmentHeader))) return std::nullopt;
  const SharedMapping mapping(file, 0, whole_pages(sizeof(SegmentHeader)));
  auto& header = *reinterpret_cast<SegmentHeader*>(mapping.data());
  if (std::atomic_ref(header.magic).load(std::memory_order_acquire) != kMagic) return std::nullopt;
  return header.board.iteration.load();
}

std::optional<std::uint64_t> Segment::weights_in(int file) {
  const auto iteration = iteration_in(file);
  if (!iteration) return std::nullopt;
  const SharedMapping mapping(file, 0, whole_pages(sizeof(SegmentHeader)));
  auto& header = *reinterpret_cast<SegmentHeader*>(mapping.data());
  return header.has_weights != 0 ? iteration : std::nullopt;
}

std::uint64_t Segment::weights_offset(std::uint64_t iteration) const {
  const Offsets offsets(shape_);
  return offsets.versions + (iteration % 2) * (1 + shape_.state_vectors) * offsets.vector_bytes;
}

std::uint64_t Segment::gradient_offset(std::uint32_t slot) const {
  const Offsets offsets(shape_);
  return offsets.gradients + slot * offsets.vector_bytes;
}

Version Segment::version(std::uint64_t iteration) const {
  const std::uint64_t start = weights_offset(iteration);
  const auto vector = [&](std::uint64_t v) {
    return items_at<float>(fixed_.data(), start + v * Offsets(shape_).vector_bytes,
                           shape_.flat_size);
  };
  Version version{.weights = vector(0), .state = {}};
  for (std::uint32_t v = 0; v < shape_.state_vectors; ++v) version.state[v] = vector(1 + v);
  return version;
}

std::span<float> Segment::gradient(std::uint32_t slot) {
  SCAVENGER_CHECK(slot < kMostWorkers);
  std::unique_ptr<SharedMapping>& mapping = gradients_[slot];
  if (!mapping) {
    const std::uint64_t bytes = Offsets(shape_).vector_bytes;
    reserve_shared_memory(file_, gradient_offset(slot), bytes);
    mapping = std::make_unique<SharedMapping>(file_, gradient_offset(slot), bytes);
  }
  return items_at<float>(mapping->data(), 0, shape_.flat_size);
}

std::span<double> Segment::rank_sqr_norms(std::uint32_t chunk) const {
  const std::uint64_t first =
      Offsets(shape_).rank_norms + std::uint64_t{chunk} * kMostWorkers * sizeof(double);
  return items_at<double>(fixed_.data(), first, kMostWorkers);
}

double& Segment::sqr_norm(std::uint32_t chunk) const {
  return items_at<double>(fixed_.data(), Offsets(shape_).norms, layout_.chunk_count())[chunk];
}

}  // namespace scavenger::ps
