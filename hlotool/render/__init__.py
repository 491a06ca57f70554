"""Records to text: tables, markdown, JSON, JSON Lines, CSV. Knows no HLO and no options."""
