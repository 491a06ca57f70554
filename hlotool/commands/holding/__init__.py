"""What `hlotool buffers` answers, and how it is asked.

`asked` reads what was asked for, `message` answers about an out-of-memory message, or finds the
program that it is about. `answer` puts the lists of an answer together, with the drawing of
`timeline`. The sentences are in `prose/buffers`.
"""
