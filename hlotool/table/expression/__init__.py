"""Room table/expression."""
