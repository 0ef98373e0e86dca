// Replaces product_onednn.cpp in a program built without oneDNN. There are then no oneDNN products,
// and the kernels in this folder compute all rows.
#include "core/base/error.h"
#include "core/kernels/linear/cpu/product_onednn.h"

namespace reprise::kernels::cpu {

struct Product::Primitive {};

Product::~Product() = default;
size_t Product::scratchpad_bytes() const { return 0; }
void Product::run(const void*, const void*, const float*, void*, void*) const {
  REPRISE_CHECK(false, "a product, and oneDNN is not built in (REPRISE_ONEDNN)");
}

std::shared_ptr<const Product> make_product(const ProductShape&) { return nullptr; }
bool products_are_built_in() { return false; }
bool product_uses_amx() { return false; }

}  // namespace reprise::kernels::cpu
