"""S: what the pace of ranks says."""
