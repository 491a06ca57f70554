"""Where in the user's program does something come from?

`scope` reads the part of the model out of an op_name; `origin` finds scope, file and line of
an instruction, or of those fused into it.
"""
