"""Options that verbs of `shunter migrate` share."""
