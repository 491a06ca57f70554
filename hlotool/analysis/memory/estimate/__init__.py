"""What would a buffer assignment hold, where a dump has none?

`assignment` is the way in, unless there is an `obstacle`. It gives each value a `value_size`,
finds in `hlo_buffers` what must lie together and in `joined_buffers` what probably does, as
temporary values find room in `reused_memory`, by its `usage`.

`temp_size` is what the rest takes: a heap whose `heap_blocks` have a time, and whose `heap_size`
is found by placing them where the `byte_usage` of the largest leaves a gap (CPU, GPU), or into
the `free_bytes` as time goes by (TPU). `promise` says how far off all of this may be.
"""
