"""What `shunter migrate explain` says: of a topic by its id, of a field of v1 by its path. Fields are explained by converting a
small job that has them, so that what is said is what the conversion does; only the words stand in fields.yaml.

topics.py    a topic by its id (`explain POD007`): meaning, remedy, severity
fields.py    a field by its path, with the result of converting an example

Tests: tests/migrate/survey/explaining.
"""
