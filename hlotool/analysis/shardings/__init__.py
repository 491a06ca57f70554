"""How the user's arrays lie on the devices.

* `witness` asks each file of a program what it says of the entry's arrays.
* `report` puts together what they say, and adds up what is the same on several devices.
"""
