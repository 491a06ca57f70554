"""The page of `hlotool report`: one file of HTML that needs nothing else.

`data` is what its scripts draw, of one program or of two. `html` fills a template with prose,
tables and data: `program.html` or `pair.html`, both in the frame of `frame.html`. `page.css` is
their look. `common.js` sorts and searches tables and opens panels; `program.js` and `pair.js` draw
charts by plotly, which an extra brings, as it does the template language, jinja2.
"""
