"""H: what stacks say."""
