"""Instruction-file dialects in: bytes to sections and fragments; pure, linear, never surprised."""
