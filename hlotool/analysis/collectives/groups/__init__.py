"""Which devices talk to each other, and how do they lie?

device_groups   which devices are a group, or a pair?
group_reader    what groups does the text print, in whatever notation?
group_problems  where do they contradict the number of devices?
slice_groups    and which of which slices, on TPU Multislice?
extent          where in the machine does a collective run?
networks        over which network do they talk?
strides         how far apart are the numbers of a group's devices?
mesh_axes       along which axes of the device mesh do they lie, and inside one node?
program_mesh    which mesh does the program name?
"""
