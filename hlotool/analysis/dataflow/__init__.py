"""Which memory is seen where, and how long: values, their flow through instructions, lifetimes."""
