"""The node's HTTPS server, in kubelet's form, and what it serves: logs, usage and statistics."""
