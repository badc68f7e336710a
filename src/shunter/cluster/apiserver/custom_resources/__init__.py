"""CustomResourceDefinitions: their rules, their life, and the kinds that they define."""
