"""What did a profiler measure of a program, beside what is estimated?

* `columns` declares the figures that rows of several answers have alike, and says what they mean.
* `join` finds the times of instructions by their names.
* `instructions` ranks what ran by its time.
* `facts` says of the whole program how often it ran, and how long.
"""
