"""What is there to know about one thing of a program? The answer of `hlotool show`.

`names` finds what a typed name means. `subjects` says what it is, where it runs and what it
costs, `neighbours` what gives to it and takes from it, `body` what is inside, `memory` which bytes
hold it and what shares them. `definition` writes an instruction down so that it can be read.
`report` puts them together, `answer` declares the lists.
"""
