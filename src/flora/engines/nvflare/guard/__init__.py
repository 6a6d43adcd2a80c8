"""What stands between NVFlare and everybody else: its processes start with this guard in them."""
