"""From a file to its text and kind: bytes, compression, refusals."""
