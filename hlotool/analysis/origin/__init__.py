"""Where in the user's program does something come from?

components  which components has an op_name, and what is wrapped around each?
scope       which part of the user's model does an op_name mean?
origin      which scope, file and line has an instruction, or what is fused into it?
stack       which calls led to the line of a row?
"""
