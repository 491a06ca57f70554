"""What `hlotool diff` answers beside two programs, and in which sentences.

`asked` reads what was asked for. `programs` compares two, `several` more, `directory` all of two
directories, whose pairs `partners` names; `passes` walks one compilation, `trace` follows
instructions through it. `verdict` says what matters first, `why` the reasons, `who` what can have
done it.
"""
