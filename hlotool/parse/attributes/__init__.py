"""The attributes of an instruction: split when first asked for, and read one by one.

* `split` takes `key=value, key=value` apart; values keep their spelling.
* `reader` is what the IR asks (an AttributeReader); `value_reader` reads a value once.
* The notations: `values` (numbers, windows, slices, …), `replica_groups` and meshes,
  `sharding`, `aliases`, `metadata`.
"""
