"""Transports around a transport: metering and metadata only."""
