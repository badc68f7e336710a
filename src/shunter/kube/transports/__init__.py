"""Transports around a transport: metering, metadata only, and faults for tests."""
