"""Who may say what to whom over NVFlare's cells: a closed list, and no for all the rest.

NVFlare lets every cell write to every other through the aggregator, and a party's agent obeys whoever writes. Here a
message is judged by what it says of itself and by the line that it came over, before anything in it is unpacked. These
are pure functions and tables; ``seams.py`` puts them in NVFlare's way. A cell is called ``server`` (the aggregator),
``north`` (a party), ``server.JOB`` and ``north.JOB`` (their processes for one run) or ``_admin_UUID`` (the scientist).
"""

import re
from dataclasses import dataclass

SERVER = "server"
JOB = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SESSION = re.compile(rf"_admin_{JOB.pattern}")
REQUEST, REPLY = "req", "reply"
Asked = frozenset[tuple[str, str]]  # channel and topic

BYE: Asked = frozenset({("cellnet.channel", "bye")})  # a cell that stops tells its neighbours; it names itself alone
STREAM: Asked = frozenset(
    {("sm__STREAM", "sm__ACK"), ("sm__STREAM", "sm__ERROR")}
)  # how a message in pieces gets along

# At a party.
PARTY_FROM_AGGREGATOR: Asked = frozenset({("admin", "admin")}) | BYE  # and then one of ORDERS, in the message itself
PARTY_FROM_OWN_RUN: Asked = frozenset({("admin", "train.notify_job_status")}) | BYE
RUN_FROM_AGGREGATOR: Asked = frozenset({("aux_communication", "__end_run__")}) | STREAM | BYE
RUN_FROM_OWN_PARTY: Asked = frozenset({("client_command", "abort")}) | STREAM | BYE

# At the aggregator.
AGGREGATOR_FROM_PARTY: Asked = (
    frozenset(("task", topic) for topic in ("challenge", "register", "heart_beat", "quit", "report_job_failure")) | BYE
)
AGGREGATOR_FROM_PARTYS_RUN: Asked = frozenset({("flora", "reduce")}) | BYE  # sums are made where lines end
AGGREGATOR_FROM_OWN_RUN: Asked = (
    frozenset(("server_parent_listener", topic) for topic in ("get_clients", "heartbeat", "update_run_status"))
    | frozenset({("flora", "hub")})  # when sums begin and end
    | STREAM
    | BYE
)
AGGREGATOR_FROM_SCIENTIST: Asked = (
    frozenset(
        {
            ("task", "challenge"),
            ("task", "register"),
            ("hci_channel", "command"),  # and then one of COMMANDS, in the message itself
            ("aux_communication", "ObjectStreamer.Request"),  # a run that is submitted
            ("aux_communication", "ObjectStreamer.Abort"),
            ("download_service__", "download_service__download"),  # a result that is fetched
        }
    )
    | STREAM
    | BYE
)
HUB_FROM_PARTYS_RUN: Asked = (
    frozenset(("flora", topic) for topic in ("reduce", "beat"))
    | frozenset(("aux_communication", topic) for topic in ("__job_heartbeat__", "__sync_runner__", "__task_check__"))
    | frozenset(("server_command", topic) for topic in ("get_task", "submit_update"))
    | STREAM
)
GONE = (REQUEST, "sm__STREAM", "sm__ERROR")  # a party tells a run that its own process for it is not there
HUB_FROM_AGGREGATOR: Asked = (
    frozenset(("server_command", topic) for topic in ("app_command", "abort", "handle_dead_job")) | STREAM | BYE
)

# At a scientist: all else that it needs are answers.
SCIENTIST_FROM_AGGREGATOR: Asked = frozenset({("hci_channel", "SESSION_EXPIRED")}) | STREAM | BYE


@dataclass(frozen=True)
class Heading:
    """What a message says of itself, and what is known of the line that it came over."""

    kind: str  # REQUEST or REPLY
    origin: str
    destination: str
    channel: str
    topic: str
    neighbour: str  # the cell at the other end of the line
    certificate: str  # whose certificate the line's other end has shown; empty where the driver does not say
    dialled: bool  # by us
    within: bool = False  # this very process sent it
    invites: bool = False  # it offers an address for a line of its own

    @property
    def words(self) -> str:
        """Name the message in a sentence."""
        kind = "an answer" if self.kind == REPLY else f"{self.topic!r:.80} on {self.channel!r:.40}"
        return f"{kind} from {self.origin:.80}"


@dataclass(frozen=True)
class PartyGuard:
    """A party's process, or its process for one run: it hears the aggregator and its own other process."""

    name: str
    aggregator: str  # as its certificate says
    run: str = ""

    @property
    def here(self) -> str:
        """The name of this cell."""
        return f"{self.name}.{self.run}" if self.run else self.name

    def refusal(self, e: Heading) -> str:
        """Return why a message is refused; empty where it may come in, or pass between this party's two processes."""
        if e.within and e.origin == e.neighbour == self.here:
            return ""
        if e.invites:
            return "a party opens no further lines"
        if self._is_aggregator(e):
            return self._from_aggregator(e)
        if self._is_own(e):
            return self._from_own(e)
        return "a party hears its aggregator and its own run alone"

    def _is_aggregator(self, e: Heading) -> bool:
        return e.neighbour == SERVER and e.dialled and e.certificate in ("", self.aggregator)

    def _is_own(self, e: Heading) -> bool:
        if e.certificate != self.name:
            return False
        if self.run:
            return e.neighbour == self.name and e.dialled
        return not e.dialled and run_of(e.neighbour, self.name) != ""

    def _from_aggregator(self, e: Heading) -> str:
        run = run_of(e.origin, SERVER)
        if e.origin != SERVER and not run:
            return "the aggregator may not pass on what others say"
        if e.destination == self.here == self.name:
            return _listed(e, PARTY_FROM_AGGREGATOR if e.origin == SERVER else frozenset())
        if self.run and e.destination != self.here:
            return "it is for somebody else"
        addressed = self.run or run_of(e.destination, self.name)
        if not addressed or run not in ("", addressed):
            return "it is not of this run"
        return _listed(e, RUN_FROM_AGGREGATOR)

    def _from_own(self, e: Heading) -> str:
        if self.run:  # its parent may also pass on what the aggregator said, and has judged it
            if e.destination != self.here:
                return "it is for somebody else"
            return _listed(e, RUN_FROM_OWN_PARTY) if e.origin == self.name else self._from_aggregator(e)
        if e.origin != e.neighbour:
            return "it is sent in the name of another"
        if e.destination == self.here:
            return _listed(e, PARTY_FROM_OWN_RUN)
        on_its_way = e.destination in (SERVER, f"{SERVER}.{run_of(e.origin, self.name)}")
        return "" if on_its_way else "a run speaks with the aggregator alone"


@dataclass(frozen=True)
class SiteGuard:
    """A site's process in a network that NVFlare runs already: it hears the server and its own runs alone.

    Messages of a run that are on their way to it, or from it, pass: runs that are not FLoRA's may need others.
    """

    name: str
    aggregator: str  # as its certificate says

    def refusal(self, e: Heading) -> str:
        """Return why a message is refused; empty where it may come in, or pass on to a run of this site or from it."""
        if e.within and e.origin == e.neighbour == self.name:
            return ""
        own = not e.dialled and e.certificate == self.name and run_of(e.neighbour, self.name) != ""
        server = e.dialled and e.neighbour == SERVER and e.certificate in ("", self.aggregator)
        if e.destination != self.name:
            passes = own or (server and run_of(e.destination, self.name) != "")
            return "" if passes else "a site passes on only what is of its own runs"
        if e.invites:
            return "a site opens no further lines"
        if own and e.origin == e.neighbour:
            return _listed(e, PARTY_FROM_OWN_RUN | STREAM)
        if server and (e.origin == SERVER or run_of(e.origin, SERVER)):
            return _listed(e, PARTY_FROM_AGGREGATOR | STREAM if e.origin == SERVER else frozenset())
        return "a site hears its server and its own runs alone"


@dataclass(frozen=True)
class AggregatorGuard:
    """The aggregator's process, or its process for one run (the hub): nobody speaks to another through it."""

    aggregator: str  # as its certificate says
    scientist: str
    parties: frozenset[str]
    run: str = ""

    @property
    def here(self) -> str:
        """The name of this cell."""
        return f"{SERVER}.{self.run}" if self.run else SERVER

    def refusal(self, e: Heading) -> str:
        """Return why a message is refused; empty where it may come in, or go on to where it is sent."""
        if e.within and e.origin == e.neighbour == self.here:
            return ""
        if e.invites:
            return "the aggregator opens no further lines"
        if self.run:
            return self._at_hub(e)
        if e.dialled:
            return "the aggregator dials nobody"
        return self._from_outside(e)

    def name_refusal(self, name: str, certificate: str) -> str:
        """Return why who shows that certificate may not be called so; empty where that is its own name."""
        owner, dot, _ = name.partition(".")
        if owner in self.parties:
            known = certificate == owner and (not dot or run_of(name, owner) != "")
        elif owner == SERVER:
            known = certificate == self.aggregator and run_of(name, SERVER) != ""
        else:
            known = certificate == self.scientist and SESSION.fullmatch(name) is not None
        return "" if known else f"the certificate of {certificate!r:.80} is not that of {name!r:.80}"

    def _from_outside(self, e: Heading) -> str:
        if why := self.name_refusal(e.neighbour, e.certificate):
            return why
        if e.neighbour.startswith(f"{SERVER}."):
            return self._from_own_run(e)
        party = e.neighbour.partition(".")[0]
        return self._from_party(e, party) if party in self.parties else self._from_scientist(e)

    def _from_scientist(self, e: Heading) -> str:
        if e.origin != e.neighbour:
            return "it is sent in the name of another"
        return _listed(e, AGGREGATOR_FROM_SCIENTIST) if e.destination == SERVER else "a scientist reaches no party"

    def _from_own_run(self, e: Heading) -> str:
        run = run_of(e.neighbour, SERVER)
        if e.origin != e.neighbour:
            return "it is sent in the name of another"
        if e.destination == SERVER:
            return _listed(e, AGGREGATOR_FROM_OWN_RUN)
        party, _, addressed = e.destination.partition(".")
        if party not in self.parties or addressed != run:
            return "a run speaks with its own parties alone"
        return _listed(e, RUN_FROM_AGGREGATOR)

    def _from_party(self, e: Heading, party: str) -> str:
        run = run_of(e.origin, party)
        if e.origin not in (e.neighbour, f"{e.neighbour}.{run}") or (e.origin != party and not run):
            return "it is sent in the name of another"
        if e.destination == SERVER:
            return _listed(e, AGGREGATOR_FROM_PARTYS_RUN if run else AGGREGATOR_FROM_PARTY)
        if run and e.destination == f"{SERVER}.{run}":
            return _listed(e, HUB_FROM_PARTYS_RUN)
        if not run and run_of(e.destination, SERVER) and (e.kind, e.channel, e.topic) == GONE:
            return ""
        return "a party speaks with the aggregator alone"

    def _at_hub(self, e: Heading) -> str:
        if not (e.neighbour == SERVER and e.dialled and e.certificate == self.aggregator):
            return "a run at the aggregator hears its own parent alone"
        if e.destination != self.here:
            return "it is for somebody else"
        if e.origin == SERVER:
            return _listed(e, HUB_FROM_AGGREGATOR)
        party, _, run = e.origin.partition(".")
        if e.origin in self.parties and (e.kind, e.channel, e.topic) == GONE:
            return ""
        if party not in self.parties or run != self.run:
            return "it is not of this run"
        return _listed(e, HUB_FROM_PARTYS_RUN)


@dataclass(frozen=True)
class ScientistGuard:
    """A scientist's process: it hears the aggregator itself, and nobody through it."""

    aggregator: str  # as its certificate says

    def refusal(self, e: Heading) -> str:
        """Return why a message is refused; empty where it may come in."""
        if e.within and e.origin == e.neighbour and SESSION.fullmatch(e.origin):
            return ""
        if e.invites:
            return "a scientist opens no further lines"
        if not (e.dialled and e.origin == e.neighbour == SERVER and e.certificate in ("", self.aggregator)):
            return "a scientist hears its aggregator alone"
        if not SESSION.fullmatch(e.destination):
            return "it is for somebody else"
        return _listed(e, SCIENTIST_FROM_AGGREGATOR)


Guard = PartyGuard | SiteGuard | AggregatorGuard | ScientistGuard


def run_of(cell: str, owner: str) -> str:
    """Return which run a cell of that owner is of; empty where it is none."""
    root, _, run = cell.partition(".")
    return run if root == owner and JOB.fullmatch(run) else ""


def _listed(e: Heading, allowed: Asked) -> str:
    if e.kind == REPLY or (e.channel, e.topic) in allowed:  # an answer reaches only who has asked, by a random number
        return ""
    return "it is not among what a run needs"
