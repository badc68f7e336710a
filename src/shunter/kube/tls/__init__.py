"""Certificates and TLS: making, sharing and renewing them."""
