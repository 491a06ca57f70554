"""What `hlotool diff` answers beside two programs, and in which sentences.

`asked` reads what was asked for. `programs` compares two, `several` more, `directory` all of two
directories, whose pairs `partners` names; `passes` walks one compilation. `verdict` says what
matters first, `why` the reasons.
"""
