"""Sums under masks: who adds up gets noise from each party, and from all together the sum, to the bit.

Before the first sum of a step the parties agree on keys, over the very line that carries their sums:

1. Each sends a public key that it has just drawn (X25519). Whoever carries it may read it.
2. Each signs all of these keys, with the step and the list of parties, and checks that all others have signed the same.
   A key, a list or a step that was changed on the way is noticed here, before anything else leaves.

Each pair of parties now has a secret of its own. For each sum both draw the same words from it (the counter mode of
AES-256 as GCM has it, under a key for this call and this shape); the one of lower rank adds them, the other subtracts
them. So they cancel in the sum over the very parties that signed, and in no other. No key is used twice: keys end with
the step, and the call's number is in each key.

A check word travels along: the sum of the numbers, each times a word that all parties can draw and who adds up cannot
(the first party draws the key of these, and sends it sealed with the messages of 2). All parties compare it with the
sum that came back. So they notice a sum that lacks a party, was changed, or belongs to an earlier call. The chance that
a change is missed is 2^-64 where it is odd, and 2^(k-64) where it is a multiple of 2^k.

This needs the package ``cryptography``, so it is imported only where masks are asked for.
"""

import hmac
import json
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

import numpy as np
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from flora.core.codec import read, to_document
from flora.core.collective import Collective, Integers, PassesOn
from flora.core.documents import parse
from flora.errors import CollectiveError, InputError

PROTOCOL = "flora masked sums 2"
KEY_BYTES = 32
BLOCK = 2**14  # words at a time, which stay in the processor's cache while all pairs' masks are added
ZEROS = memoryview(bytes(8 * BLOCK))  # a stream is what a cipher makes of them
TAG = 2  # words that the cipher writes after a stream


class Signer(Protocol):
    """Signs for one party, and knows the others' signatures."""

    def sign(self, data: bytes) -> bytes:
        """Return this party's signature of ``data``, with what others need to check it."""
        ...

    def fault(self, party: str, data: bytes, signature: bytes) -> str | None:
        """Return why ``signature`` is not that party's signature of ``data``, or None."""
        ...


@dataclass(frozen=True)
class Masking:
    """What one party needs to add up under masks with others, in one step."""

    parties: tuple[str, ...]  # in the order of the ranks
    signer: Signer
    place: str = ""  # which step of which run this is: a key for another is none for this

    def begin(self, collective: Collective, step: str) -> "MaskedCollective":
        """Agree on keys for a step, whose text all parties must have alike; return the collective that masks."""
        rank, secret = collective.rank, X25519PrivateKey.generate()
        if collective.size != len(self.parties):
            raise CollectiveError(f"{len(self.parties)} parties are named, and the sums are of {collective.size}")
        if twice := sorted(party for party, times in Counter(self.parties).items() if times > 1):
            # its own signature, sent back to it, would pass for its namesake's, whose key may be anybody's
            raise CollectiveError(f"party {twice[0]!r} is named twice among those who add up: no sum leaves")
        own = secret.public_key().public_bytes_raw()
        publics = collective.allgather(own)
        if publics[rank] != own or len(set(publics)) < len(publics):
            raise CollectiveError("a key for the masks was changed on the way: no sum leaves")
        agreed = _digest([PROTOCOL, self.place, step, *self.parties], publics)
        pairs = {k: _shared(secret, publics[k], self.parties[k]) for k in range(len(publics)) if k != rank}
        check = secrets.token_bytes(KEY_BYTES)  # the first party's is everybody's
        sealed = [_sealed(pairs[k], agreed, check) if k in pairs else b"" for k in range(len(publics))]
        signed = _Signed(self.signer.sign(agreed), tuple(sealed) if rank == 0 else ())
        answers = collective.allgather(json.dumps(to_document(signed)).encode())
        others = {k: _read_signed(answers[k], self.parties[k]) for k in pairs}
        for k, answer in others.items():
            self._check(self.parties[k], agreed, answer.signature)
        if rank != 0:
            check = _opened(pairs[0], agreed, others[0].sealed, rank)
        keys = {k: _derived(shared, agreed, b"masks") for k, shared in pairs.items()}
        return MaskedCollective(collective, keys, _derived(check, agreed, b"check"))

    def _check(self, party: str, agreed: bytes, signature: bytes) -> None:
        fault = self.signer.fault(party, agreed, signature)
        if fault:
            raise CollectiveError(
                f"party {party!r} has not signed these keys, this step and these parties ({fault}): no sum leaves"
            )


@dataclass
class MaskedCollective(PassesOn):
    """A party's end of a collective whose sums leave under masks; what is gathered is everybody's, as it is."""

    inner: Collective
    pairs: Mapping[int, bytes] = field(repr=False)  # by the other's rank: the key of the pair's masks
    check: bytes = field(repr=False)  # the key of the check words
    calls: int = 0
    room: Integers = field(default_factory=lambda: np.empty((2, 0), dtype=np.int64), repr=False)  # new memory is slow

    def add_integers(self, values: Integers) -> Integers:
        """Return the parties' elementwise sum modulo 2^64, which is checked; what leaves is masked."""
        own, call = np.ascontiguousarray(values, dtype=np.int64), f"{self.calls} {np.shape(values)}"
        self.calls += 1
        factors, words = self._room(own.size + 1)
        factors[:], words[:-1] = 0, own.ravel()
        add_masks(factors, call, [self.check], [])
        words[-1:] = _checked(factors, words[:-1]) if self.rank == 0 else factors[:-1] @ words[:-1]
        later = [key for other, key in self.pairs.items() if self.rank < other]
        add_masks(words, call, later, [key for other, key in self.pairs.items() if self.rank > other])
        total = self.inner.add_integers(words)
        if _checked(factors, total[:-1]) != total[-1:]:
            raise CollectiveError(
                f"sum {self.calls} is not of the numbers that these parties have just sent: "
                "it was changed, repeated, or lacks a party"
            )
        return total[:-1].reshape(np.shape(values))

    def _room(self, count: int) -> tuple[Integers, Integers]:
        """Return two arrays of so many words, whatever is in them."""
        if self.room.shape[1] < count:
            self.room = np.empty((2, count), dtype=np.int64)
        return self.room[0, :count], self.room[1, :count]


@dataclass(frozen=True)
class FreshSigner:
    """Signs with a key that was drawn for this process: its parties know each other."""

    key: Ed25519PrivateKey
    known: Mapping[str, Ed25519PublicKey]

    @classmethod
    def for_each(cls, parties: Sequence[str]) -> dict[str, "FreshSigner"]:
        """Return a signer for each party of this process."""
        keys = {party: Ed25519PrivateKey.generate() for party in parties}
        known = {party: key.public_key() for party, key in keys.items()}
        return {party: cls(key, known) for party, key in keys.items()}

    def sign(self, data: bytes) -> bytes:
        """Return the signature of ``data``."""
        return self.key.sign(data)

    def fault(self, party: str, data: bytes, signature: bytes) -> str | None:
        """Return why it is not that party's signature, or None."""
        try:
            self.known[party].verify(signature, data)
        except (InvalidSignature, KeyError):
            return "the signature is another's, or of something else"
        return None


@dataclass(frozen=True)
class _Signed:
    """What a party says of the keys; the first one adds the key of the check words, sealed for each other party."""

    signature: bytes
    sealed: tuple[bytes, ...] = ()


def _read_signed(data: bytes, party: str) -> _Signed:
    try:
        return read(_Signed, parse(data))
    except (InputError, ValueError) as error:
        raise CollectiveError(f"party {party!r} sent no signature of the keys ({error!s:.100})") from error


def _digest(words: Sequence[str], keys: Sequence[bytes]) -> bytes:
    """Return what all sign: words and keys, each of them where it begins and ends."""
    return sha256(json.dumps([*words, *(key.hex() for key in keys)]).encode()).digest()


def _shared(secret: X25519PrivateKey, public: bytes, party: str) -> bytes:
    try:
        return secret.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError as error:  # of another length, or a point that makes every secret the same
        raise CollectiveError(f"party {party!r} sent no key for the masks ({error!s:.100})") from error


def _derived(secret: bytes, agreed: bytes, use: bytes) -> bytes:
    return HKDF(SHA256(), KEY_BYTES, salt=agreed, info=use).derive(secret)


def _sealed(shared: bytes, agreed: bytes, check: bytes) -> bytes:
    return ChaCha20Poly1305(_derived(shared, agreed, b"seal")).encrypt(bytes(12), check, agreed)  # a key for one use


def _opened(shared: bytes, agreed: bytes, sealed: Sequence[bytes], rank: int) -> bytes:
    try:
        return ChaCha20Poly1305(_derived(shared, agreed, b"seal")).decrypt(bytes(12), sealed[rank], agreed)
    except (InvalidTag, IndexError) as error:
        raise CollectiveError("the key of the check words was changed on the way: no sum leaves") from error


def add_masks(words: Integers, call: str, adding: Sequence[bytes], subtracting: Sequence[bytes]) -> None:
    """Add the words that keys give for one call, and subtract those that others give.

    The call's number and shape are in the cipher's key, and a block's number is its nonce. GCM's stream is that of
    counter mode, and twice as fast where the processor has wide instructions for it; its tag is not needed, for check
    words tell of changes.
    """
    each = [[AESGCM(hmac.digest(key, call.encode(), "sha256")) for key in keys] for keys in (adding, subtracting)]
    room = np.empty(min(len(words), BLOCK) + TAG, dtype=np.int64)  # kept: new memory for each stream is slower
    for number, start in enumerate(range(0, len(words), BLOCK)):
        part, nonce = words[start : start + BLOCK], number.to_bytes(12, "big")
        zeros, drawn = ZEROS[: part.nbytes], room[: len(part) + TAG]
        into, stream = drawn.data.cast("B"), drawn[:-TAG]
        for cipher in each[0]:
            cipher.encrypt_into(nonce, zeros, None, into)
            part += stream
        for cipher in each[1]:
            cipher.encrypt_into(nonce, zeros, None, into)
            part -= stream


def _checked(factors: Integers, numbers: Integers) -> Integers:
    """Return the check word of a sum: each number times its factor, and the last factor, which hides that sum."""
    return factors[-1:] + factors[:-1] @ numbers
