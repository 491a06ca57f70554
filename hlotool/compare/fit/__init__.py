"""What a program would take at another size, from a few compilations of it.

`laws` finds what varies between programs and how a number follows it. `scaled` writes the largest
program at any size. `report` reads its figures there, and says what they are made of.
"""
