"""The one page that each administrator gets with a kit."""

PARTY_README = """# Kit of the party {party!s} in the consortium {name}

This folder lets your site take part in a FLoRA run. It holds your site's private key: keep it as you keep a password.

1. Install, with Python 3.11 or newer: `pip install 'flora-hpo[nvflare]'` (the version that the aggregator names).
2. Nothing need be opened in your firewall. Your site only dials out, to {host} port {port} (TLS, both sides show
   certificates).
3. Say what your site allows in `local/flora.json`; without that file the defaults hold. `docs/security.md` of FLoRA
   says what each field means. Nothing that the aggregator asks can widen it.
4. Start, and leave it running (a service manager is fine):

       flora party THIS_FOLDER --data FILE --target COLUMN

   With `--ask` it shows you what is about to leave, each time, and waits for your yes. Ctrl-C stops it; started again,
   it goes on where it was.
5. What left your site, when, and its digest: `flora audit THIS_FOLDER/state/audit.jsonl`.

Your rows stay where they are. `state/` holds your searches (one file each) and the audit log: back up these two.
NVFlare, which carries the messages, writes its own logs to `state/nvflare.log` and beside this page.
"""

AGGREGATOR_README = """# Kit of the aggregator of the consortium {name}

Parties: {parties}.

This folder holds the aggregator's private keys, and in `scientist/` the key of who may start runs. The consortium's
root key is not here: it stays in the folder `authority` where the kits were made.

1. Install, with Python 3.11 or newer: `pip install 'flora-hpo[nvflare]'`, the same version as at the parties.
2. Open port {port} to the parties. They dial {host}, which must be a name of this machine. Clocks must be right.
3. Start, and leave it running (a service manager is fine):

       flora aggregator THIS_FOLDER

4. See who is connected, and start a run:

       flora status THIS_FOLDER
       flora tune --project THIS_FOLDER --model hgb --out flora-run

   `scientist/` alone is enough for these two, on another machine too.

`state/runs/` holds the parties' answers: after a crash, the same `flora tune` goes on from there. Back it up.
"""
