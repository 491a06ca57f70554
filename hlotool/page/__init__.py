"""How does a page look? One file of HTML that needs nothing else.

`page` fills a template with prose, tables (`tables`) and data: `program.html` for one program,
`pair.html` for two, both in the frame of `frame.html`. `page.css` is their look. `common.js` sorts
and searches tables and opens panels; `program.js` and `pair.js` draw charts by plotly. `libraries`
finds plotly and jinja2, which an extra brings.
"""
