"""How good FLoRA is at what it does, measured: ``flora-lab judge``."""
