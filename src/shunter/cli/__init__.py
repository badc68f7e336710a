"""The `shunter` command, a module per verb group; no logic of its own."""
