"""What each fusion costs, what it saves, and where one is missing."""
