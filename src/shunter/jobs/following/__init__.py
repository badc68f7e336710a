"""Following one job to its end: what is shown of it meanwhile and where, and how it ended."""
