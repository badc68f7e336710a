"""One pod on this node: its containers from start to end, and the status that is written of them."""
