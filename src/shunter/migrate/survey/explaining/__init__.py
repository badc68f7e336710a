"""What `shunter migrate explain` says: of a topic by its id, of a field of v1 by its path. Fields are explained by converting a
small job that has them, so that what is said is what the conversion does; only the words stand in fields.yaml.
"""
