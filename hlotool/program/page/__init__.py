"""What does a page about a program show? The data of `hlotool report`, ready to be drawn.

`memory` has who holds memory over time, and where; `tree` adds the peak up by paths; `work` has
fusions and steps; `panels` what a click on a name tells,
`clock` and `graph` what other tools draw. `page` puts them together.
"""
