"""The text of a buffer assignment to IR: `parse_buffer_assignment` is the way in.

* `assignment` reads the old single file, or the newer set of three.
* The sections: `allocations`, each an `allocation_line` with values; `used_values`, each with its
  `definition`; `live_range`, with XLA's own peak.
* `parts` refuses sections that do not belong together; `unknown_lines` are counted, or refused;
  `open_end` says what may be missing where nothing tells.
"""
