"""Out-of-memory messages: of XLA's compilers and runtimes, and what frameworks wrap around them.

* `sizes` reads a size as they write it.
* `hints` tells texts that may hold one from all others.
* `tensors` reads the tensor and the node that TensorFlow names.
* `heads` has the sentence that each message begins with, in old and in new wording.
* `parts` reads the sums below it, `listing` the entries of the list of what holds memory.
* `message` goes through a log and gives the last message.
"""
