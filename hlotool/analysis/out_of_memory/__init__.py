"""What was asked when memory ran out, and what held it? From the message, without a dump.

report  which figures has a message, and what is each buffer that it lists?
answer  which of them are the answer?
"""
