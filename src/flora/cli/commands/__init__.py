"""What may be typed after ``flora``: a module for each command, with ``add_arguments`` and ``run``."""
