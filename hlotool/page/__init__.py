"""The page of `hlotool report`: one file of HTML that needs nothing else.

`data` has all that its scripts draw and tell, in columns. `html` fills `page.html` with prose,
tables and that data, packed; `page.css` is its look. The scripts stand in a row: `axis.js` writes
figures and says which steps a pixel shows, `model.js` who holds which byte when, `icicle.js` lays
out trees: these three know no page, and are tested without one. `lanes.js` draws over the steps,
`charts.js` all else, `panel.js` tells of what is selected, and `page.js` keeps the selection.
"""
