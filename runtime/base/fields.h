// One list of fields for reading and for writing. Beside a struct stands
//
//   template <typename Fields, MaybeConst<Foo> T>
//   void visit_fields(Fields& field, T& foo) {
//     field("size", foo.size);
//   }
//
// which a reader follows to fill a Foo and a writer to write it, in the order of the document. So
// the two cannot differ.
#pragma once

#include <concepts>
#include <type_traits>

namespace scavenger {

template <typename T, typename Struct>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Struct>;

}  // namespace scavenger
