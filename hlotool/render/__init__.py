"""Records to text. Knows no HLO and no options.

`document` writes an answer as JSON, JSON Lines, CSV or TSV, `table` and `markdown` for eyes; both
take their words from `cells`, `prose` and `units`, as `look` has it, which alone knows colours.
`fit` says which columns find room, `tones` which cells stand out. `curve` draws a timeline,
`stack` one by groups, `sparkline` a row of figures, `unified` a text diff. `github`,
`junit` and `sarif` tell CI systems about the `outcome` of budgets.
"""
