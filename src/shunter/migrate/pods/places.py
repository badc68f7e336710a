"""Facts about pods that are in no field: names in the places of facts (`pods.facts`), which conversion knows without pods."""

CANONICAL_NAME = "canonical name"
"""The path element of a name of hostAliases: `("spec", "hostAliases", "canonical name", "store")`."""
