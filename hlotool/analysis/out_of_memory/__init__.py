"""What was asked when memory ran out, and what held it? From the message, without a dump.

report  which figures has a message, and what is each buffer that it lists?
suspect can a program of a dump be the one it is about, and would it have fitted?
answer  which of them are the answer?
"""
