"""All there is to know about one thing of a program: the answer of `hlotool show`.

`names` says what a typed name means, `subjects` what that is, where it runs and what it costs,
`report` what lies around and inside it, and declares the lists.
"""
