"""How far would memory fall if some bytes were not there?

`tenure` says which values hold the same bytes, `space_peak` how far the peak of a space falls
without some of them, `gain` what a row knows of that. `without` is the program without certain
values. `part` divides a program into parts one would do something about, `remedy` says what that
is and which is easiest, `reserved` what is reserved without some of them, and `fitting` which bring
it under a limit. `missed_donation` names outputs that could lie in parameters, `donating` what that
would gain, and `caveat` how far such figures may be trusted.
"""
