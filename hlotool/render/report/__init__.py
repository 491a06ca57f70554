"""How does a page look? One file of HTML that needs nothing else.

`page` fills the template `page.html` with prose, tables (`tables`) and data; `page.css` is its
look, `page.js` draws charts by plotly, and sorts and searches tables. `libraries` finds plotly and
jinja2, which an extra brings.
"""
