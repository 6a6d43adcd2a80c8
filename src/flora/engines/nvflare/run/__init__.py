"""A run across machines: submitted, carried step by step, added up, followed from afar."""
