"""Is this retrieval score real? The four-null gate and the noise floor, on the tools people already use."""

__version__ = "0.1.0"
