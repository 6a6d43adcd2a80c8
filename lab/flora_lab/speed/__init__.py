"""How long things take, and what a user would write instead."""
