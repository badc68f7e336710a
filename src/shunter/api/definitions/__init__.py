"""CustomResourceDefinitions of the kinds that the operator serves, and whether they are established."""
