"""`python -m hlotool`: the same program."""

from hlotool.cli import main

main()
