"""The embedded API server. Kinds are data (`kinds.Kind`: schema and strategy), never code paths."""
