"""How is one instruction read? By a quick reader what machines print, by a descent everything.

* The quick reader: `fast_lines`, `fast_operands`. It refuses what it does not take whole.
* The descent: `instruction`, `operands`. `signature` says which shape a parameter has that states
  none.
* Both: `find_sugar` and `sugar`, for async operations written short.
"""
