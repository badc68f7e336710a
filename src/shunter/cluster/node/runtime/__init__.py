"""How containers run on this machine: one protocol, a module per level, and the launcher that starts them."""
