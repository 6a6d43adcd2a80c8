"""Kits: what each administrator is handed, from the first certificate to its renewal and revocation."""
