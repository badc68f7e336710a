"""The embedded node: pods as processes."""
