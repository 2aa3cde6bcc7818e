// One clone of the kernels: compiled several times with different instruction sets and CLONE names.
// No std:: templates or shared inline functions here: the linker keeps one copy of those, and it might
// be the AVX one, which would then run on a CPU without AVX. Only anonymous namespaces and builtins.
#include "dispatch/clone.h"

// A kernel is declared by its line of kernels.def, so that its definition must agree with the slot.
namespace bayeskit {
#define KERNEL(folder, name, result, arguments) \
    namespace folder { namespace {              \
    result name arguments;                      \
    }                                           \
    }
#include "dispatch/kernels.def"
}  // namespace bayeskit

// clang-format off: some use what those before them define
#include "vectors/elementary.inl"
#include "counts/column_ranges.inl"
#include "counts/direct_moments.inl"
#include "counts/panel.inl"
#include "counts/moments.inl"
#include "counts/gram.inl"
#include "counts/tables.inl"
#include "counts/pairs.inl"
#include "counts/find_cells.inl"
#include "codes/integers.inl"
#include "codes/places.inl"
#include "sparse/values.inl"
#include "normal/gaussian.inl"
#include "normal/loo_rows.inl"
#include "normal/loo_columns.inl"
#include "normal/mahalanobis.inl"
#include "kernel/mixture.inl"
#include "kernel/gauss_transform.inl"
#include "tables/lookup.inl"
#include "tables/shrinkage.inl"
#include "networks/propagate.inl"
#include "posterior/softmax.inl"
#include "posterior/backoff.inl"
#include "scores/histogram.inl"
#include "scores/logistic.inl"
#include "search/family_scores.inl"
#include "search/selection.inl"
#include "search/neighbors.inl"
#include "search/tree.inl"
// clang-format on

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define JOIN_OF(a, b) a##b
#define JOIN(a, b) JOIN_OF(a, b)

namespace bayeskit {
extern const Kernels JOIN(kernels_, CLONE);
const Kernels JOIN(kernels_, CLONE) = {
    TEXT(CLONE),
#define KERNEL(folder, name, result, arguments) folder::name,
#include "dispatch/kernels.def"
};
}  // namespace bayeskit
