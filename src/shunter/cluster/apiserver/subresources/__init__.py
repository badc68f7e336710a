"""Subresources that are actions or streams: binding, eviction, tokens, scale, logs, exec."""
