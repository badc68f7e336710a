"""The network of the pods on this node: addresses, names and the way out."""
