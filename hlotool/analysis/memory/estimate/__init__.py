"""What would a buffer assignment hold, where a dump has none?

`assignment` is the way in. It gives each value a `value_size`, finds in `hlo_buffers` what must
lie together and in `joined_buffers` what probably does, as temporary values find room in
`reused_memory`, by its `usage`.
"""
