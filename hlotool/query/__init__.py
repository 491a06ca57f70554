"""Which rows, in which order, how many, grouped how; and the expression language."""
