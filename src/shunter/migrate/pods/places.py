"""What is told of pods and no field says: names in the places of facts (`pods.facts`), which conversion knows without pods."""

CANONICAL_NAME = "canonical name"
"""Of a name of hostAliases: `("spec", "hostAliases", "canonical name", "store")`."""
