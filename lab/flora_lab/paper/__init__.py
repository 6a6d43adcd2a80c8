"""The paper's evaluation: its datasets, its published numbers, and the statistics over them."""
