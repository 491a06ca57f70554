"""What does XLA's own memory-usage report say, alone or beside a dump?

report  which rows has a report?
check   does it agree with a buffer assignment?
"""
