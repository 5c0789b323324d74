"""Optimizers: those whose settings the parameter server takes over, and those that workers step."""
