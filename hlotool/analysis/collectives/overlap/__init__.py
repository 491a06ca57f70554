"""What hides a collective, and how long would it take?

overlap         what is computed while it is under way?
hiding          in what order does that work hide transfers?
open_transfers  which of those under way does a stretch of work hide?
work_meter      what counts as work there, and how much does it do?
overlap_work    how much is that together, and how long does it take?
exposure        how much of its bytes and of its time does that not hide?
machine         what does the user know of the machine?
pricing         at which speeds do the work and the transfers of a module go?
link_times      how long would a transfer take on its link?
"""
