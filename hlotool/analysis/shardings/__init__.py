"""How the user's arrays lie on the devices, and why values are moved between them.

* `witness` asks each file of a program what it says of the entry's arrays.
* `report` puts together what they say, and adds up what is the same on several devices.
* `causes` says of each collective what it pays for, `chain` what led to it; `rows` are the records.
* `partitioned` reads what the partitioner wrote, `cuts` how a gathered value is used.
* `detour` finds a way from one spec to another that gathers nothing whole.
"""
