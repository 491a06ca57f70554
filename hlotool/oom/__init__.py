"""What XLA says of memory outside of dumps: out-of-memory messages in logs, and usage reports.

* `wordings` has what a message says, how it writes sizes, and the sentences that messages begin
  with, those of frameworks and drivers too.
* `message` goes through a log and puts the last message together.
* `usage_report` reads XLA's memory-usage report.
"""
