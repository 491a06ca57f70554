"""What XLA says of memory outside of dumps: out-of-memory messages in logs, and usage reports.

* `records` is what a message says, and how it writes sizes.
* `wordings` has the sentences that messages begin with, those of frameworks and drivers too.
* `message` goes through a log and puts the last message together.
* `usage_report` reads XLA's memory-usage report.
"""
