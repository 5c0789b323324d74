"""Where a model computes: the CPU, or a GPU, and what a GPU needs beside it."""
