"""Programs that the node brings into pods."""
