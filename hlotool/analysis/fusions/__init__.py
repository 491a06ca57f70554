"""What each fusion costs, what it saves, and where one is missing.

answer          what `hlotool fusions` answers: the declaration
rows            what is said of fusions with equal bodies, and of all together
report          what does each fusion of a module cost, and what does it save?
kinds           of which kind is a fusion, and which emitter makes it?
body            which results of a body reach memory, and which stay inside?
flags           what is odd about a fusion?
expansion       what happens inside one fusion?
missed          which operations could a fusion have taken in?
recompute       which expensive operations do several fusions repeat?
call_census     which custom calls run, how often, and what do they cost?
call_totals     what do all custom calls cost together, and of how many is that unknown?
roofline        how long would fusions take on a chip that reached its peaks?
shared_figures  which figures do several of these lists have?
"""
