"""How commands are declared: shared options, completion of their values, groups that import a command when it is called."""
