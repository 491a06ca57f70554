"""`python -m hlotool`: the same program."""

from hlotool.start import main

main()
