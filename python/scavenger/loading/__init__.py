"""How batches are loaded: the processes that do it, and how samples become a batch."""
