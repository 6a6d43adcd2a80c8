"""Sums under masks, and an aggregator that cheats: it carries everything, so it may change whatever goes through it."""

import hmac
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from hypothesis import given, settings
from hypothesis import strategies as st

from flora.core.collective import Collective, Integers, PassesOn
from flora.core.masks import BLOCK, FreshSigner, MaskedCollective, Masking, add_masks
from flora.core.threads import in_step
from flora.errors import CollectiveError
from tests.conftest import Recorder

NAMES = ("a", "b", "c")
SIGNERS = FreshSigner.for_each(NAMES)
Share = Callable[[Collective], Any]


def added(parts: Sequence[Integers], wrap: Callable[[Collective], Collective] = lambda line: line) -> list[Integers]:
    """Return the sum at each party; ``wrap`` stands where the line is."""
    names = tuple(f"p{k:02}" for k in range(len(parts)))
    signers = FreshSigner.for_each(names)

    def share(line: Collective) -> Integers:
        masked: Collective = Masking(names, signers[names[line.rank]]).begin(wrap(line), "train")
        assert (masked.rank, masked.size) == (line.rank, line.size)
        return masked.add_integers(parts[line.rank])

    return in_step([share] * len(parts))


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("shape", [(), (1,), (3, 4), (0,), (2, 0, 5), (70_001,)])
def test_the_sum_is_the_sum(size: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(size)
    parts = [np.array(rng.integers(-(2**63), 2**63 - 1, shape)) for _ in range(size)]
    expected = np.zeros(shape, dtype=np.int64)
    for part in parts:
        expected = expected + part  # modulo 2^64
    for total in added(parts):
        assert total.shape == shape
        assert np.array_equal(total, expected)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=3, max_size=3), min_size=2, max_size=4))
def test_whatever_the_numbers_are(numbers: list[list[int]]) -> None:
    expected = [(sum(column) + 2**63) % 2**64 - 2**63 for column in zip(*numbers, strict=True)]
    assert [total.tolist() for total in added([np.array(part) for part in numbers])] == [expected] * len(numbers)


def test_what_is_not_contiguous_keeps_its_shape() -> None:
    table = np.arange(6).reshape(2, 3)
    assert added([table.T, table.T])[0].tolist() == (2 * table.T).tolist()


def recorded(calls: Share) -> list[Recorder]:
    """Return what each party sent while it made some calls."""
    lines: list[Recorder] = []

    def share(line: Collective) -> None:
        lines.append(Recorder(line))
        calls(Masking(NAMES, SIGNERS[NAMES[line.rank]]).begin(lines[-1], "train"))

    in_step([share] * 3)
    return lines


def test_each_contribution_alone_is_noise_and_none_is_like_another() -> None:
    zeros = np.zeros(20_000, dtype=np.int64)
    lines = recorded(lambda masked: [masked.add_integers(zeros) for _ in range(3)])
    lines += recorded(lambda masked: masked.add_integers(zeros))  # another step has other masks
    sent = [words for line in lines for words in line.sums]
    assert len(sent) == 12
    for words in sent:
        counts = np.bincount(words.view(np.uint8), minlength=256)
        expected = len(words) * 8 / 256
        assert abs(((counts - expected) ** 2 / expected).sum() - 255) < 8 * np.sqrt(2 * 255)  # chi squared
        assert len(np.unique(words)) == len(words)  # nor does a block repeat another
    for k, one in enumerate(sent):
        for other in sent[k + 1 :]:
            assert not (one == other).any()
            assert not (one == -other).any()  # nor do any two cancel: it takes all three


def test_a_mask_is_counter_mode_under_a_key_for_the_call() -> None:
    """Known answers, from the cipher as everybody has it: a block of words is a nonce, and counts from 2 as in GCM."""
    words, key = np.zeros(BLOCK + 3, dtype=np.int64), bytes(range(32))
    add_masks(words, "0 (9,)", [key], [])
    cipher = AES(hmac.digest(key, b"0 (9,)", "sha256"))
    blocks = [
        Cipher(cipher, CTR(bytes([0] * 11 + [number, 0, 0, 0, 2]))).encryptor().update(bytes(size))
        for number, size in ((0, 8 * BLOCK), (1, 24))
    ]
    assert words.tobytes() == b"".join(blocks)
    add_masks(words, "0 (9,)", [], [key])
    assert not words.any()


def test_the_shape_is_part_of_the_mask() -> None:
    flat = recorded(lambda masked: masked.add_integers(np.zeros(4, dtype=np.int64)))
    assert {line.sums[0].shape for line in flat} == {(5,)}

    def share(line: Collective) -> Integers:
        masked = Masking(NAMES, SIGNERS[NAMES[line.rank]]).begin(line, "train")
        return masked.add_integers(np.zeros((4,) if line.rank else (2, 2), dtype=np.int64))

    with pytest.raises(CollectiveError, match="sum 1 is not of the numbers"):
        in_step([share] * 3)


def test_what_is_gathered_is_everybodys() -> None:
    def share(line: Collective) -> list[bytes]:
        return list(Masking(NAMES, SIGNERS[NAMES[line.rank]]).begin(line, "train").allgather(b"%d" % line.rank))

    assert in_step([share] * 3) == [[b"0", b"1", b"2"]] * 3


class Cheat(PassesOn):
    """An aggregator's changes to what one party hears."""

    def __init__(self, inner: Collective) -> None:
        self.inner = inner
        self.gathers = 0

    def allgather(self, data: bytes) -> Sequence[bytes]:
        found = list(self.inner.allgather(data))
        self.gathers += 1
        return self.keys(found) if self.gathers == 1 else self.signatures(found)

    def keys(self, found: list[bytes]) -> list[bytes]:
        return found

    def signatures(self, found: list[bytes]) -> list[bytes]:
        return found


def cheated(cheat: Callable[[Collective], Collective], calls: int = 1, victims: tuple[int, ...] = (0, 1, 2)) -> None:
    """Add up over a line that cheats some parties."""

    def share(line: Collective) -> None:
        masked = Masking(NAMES, SIGNERS[NAMES[line.rank]], "run 1").begin(
            cheat(line) if line.rank in victims else line, "train"
        )
        for k in range(calls):
            masked.add_integers(np.array([line.rank, k]))

    in_step([share] * 3)


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_an_aggregator_that_puts_its_own_key_in_a_party_s_place_is_noticed(victim: int) -> None:
    class OwnKey(Cheat):
        def keys(self, found: list[bytes]) -> list[bytes]:
            found[(self.rank + 1) % 3] = X25519PrivateKey.generate().public_key().public_bytes_raw()
            return found

    with pytest.raises(CollectiveError, match="has not signed these keys, this step and these parties"):
        cheated(OwnKey, victims=(victim,))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_aggregator_between_all_parties_is_noticed_though_each_hears_one_story(place: int) -> None:
    """It has a key of its own for each party, and passes it on to all: nobody's list differs from another's."""
    keys = [X25519PrivateKey.generate().public_key().public_bytes_raw() for _ in range(3)]

    class Between(Cheat):
        def keys(self, found: list[bytes]) -> list[bytes]:
            return [own if k == self.rank else keys[k] for k, own in enumerate(found)]

    with pytest.raises(CollectiveError, match="has not signed these keys, this step and these parties"):
        cheated(Between)


def test_a_party_s_own_key_must_come_back_and_no_key_twice() -> None:
    class Swapped(Cheat):
        def keys(self, found: list[bytes]) -> list[bytes]:
            return found[1:] + found[:1]

    class Twice(Cheat):
        def keys(self, found: list[bytes]) -> list[bytes]:
            return [found[self.rank]] * 3

    for cheat in (Swapped, Twice):
        with pytest.raises(CollectiveError, match="a key for the masks was changed on the way: no sum leaves"):
            cheated(cheat)


@pytest.mark.parametrize("key", [b"short", bytes(32)])
def test_a_key_that_is_none_is_refused(key: bytes) -> None:
    class NoKey(Cheat):
        def keys(self, found: list[bytes]) -> list[bytes]:
            return [key, *found[1:]]

    with pytest.raises(CollectiveError, match="party 'a' sent no key for the masks"):
        cheated(NoKey, victims=(2,))


@pytest.mark.parametrize(
    ("parties", "place", "step"),
    [
        (("a", "b", "d"), "run 1", "train"),
        (("a", "d", "c"), "run 1", "train"),  # a party that is called by another name
        (NAMES, "run 2", "train"),
        (NAMES, "run 1", "train more"),
    ],
)
def test_another_list_of_parties_another_run_or_step_is_noticed(
    parties: tuple[str, ...], place: str, step: str
) -> None:
    known = FreshSigner.for_each(("a", "b", "c", "d"))

    def share(line: Collective) -> None:
        told = (parties, place, step) if line.rank == 1 else (NAMES, "run 1", "train")
        Masking(told[0], known[NAMES[line.rank]], told[1]).begin(line, told[2])

    with pytest.raises(CollectiveError, match="has not signed these keys, this step and these parties"):
        in_step([share] * 3)


def test_a_list_of_another_length_is_refused() -> None:
    with pytest.raises(CollectiveError, match="2 parties are named, and the sums are of 3"):
        in_step([lambda line: Masking(("a", "b"), SIGNERS["a"]).begin(line, "train")] * 3)


def test_a_party_that_is_named_twice_adds_up_with_nobody() -> None:
    """Else its own signature, sent back to it, stands for a namesake, whose key may be the aggregator's."""

    class Namesake(Cheat):
        def keys(self, found: list[bytes]) -> list[bytes]:
            return [found[0], X25519PrivateKey.generate().public_key().public_bytes_raw(), *found[2:]]

        def signatures(self, found: list[bytes]) -> list[bytes]:
            return [found[0], found[0], *found[2:]]

    def share(line: Collective) -> None:
        if line.rank == 0:
            names = ("a", "a")
            with pytest.raises(CollectiveError, match="party 'a' is named twice among those who add up: no sum leaves"):
                Masking(names, SIGNERS["a"]).begin(Namesake(line), "train")

    in_step([share] * 2)


def test_signatures_of_an_earlier_step_are_noticed() -> None:
    earlier = [line.gathered[1] for line in sorted(recorded(lambda masked: None), key=lambda line: line.rank)]

    class Replay(Cheat):
        def signatures(self, found: list[bytes]) -> list[bytes]:
            return [own if k == self.rank else earlier[k] for k, own in enumerate(found)]

    with pytest.raises(CollectiveError, match="has not signed these keys"):
        cheated(Replay)


@pytest.mark.parametrize("said", [b"", b"[]", b"{}", b'{"signature": "??"}', b"\xff"])
def test_a_signature_that_cannot_be_read_is_refused(said: bytes) -> None:
    class Garbled(Cheat):
        def signatures(self, found: list[bytes]) -> list[bytes]:
            return [own if k == self.rank else said for k, own in enumerate(found)]

    with pytest.raises(CollectiveError, match="sent no signature of the keys"):
        cheated(Garbled)


def test_a_changed_key_of_the_check_words_is_noticed() -> None:
    class Resealed(Cheat):
        def signatures(self, found: list[bytes]) -> list[bytes]:
            import json

            document = json.loads(found[0])
            document["sealed"] = document["sealed"][::-1]
            return [json.dumps(document).encode(), *found[1:]]

    with pytest.raises(CollectiveError, match="the key of the check words was changed on the way"):
        cheated(Resealed, victims=(1, 2))


class Liar(PassesOn):
    """An aggregator that answers every sum after the first in its own way."""

    def __init__(self, inner: Collective, lie: Callable[[list[Integers]], Integers]) -> None:
        self.inner, self.lie = inner, lie
        self.sums: list[Integers] = []

    def add_integers(self, values: Integers) -> Integers:
        self.sums.append(self.inner.add_integers(values))
        return self.lie(self.sums) if len(self.sums) > 1 else self.sums[-1]

    def allgather(self, data: bytes) -> Sequence[bytes]:
        return self.inner.allgather(data)


def one_more(sums: list[Integers]) -> Integers:
    changed = sums[-1].copy()
    changed[0] += 1
    return changed


LIES: dict[str, Callable[[list[Integers]], Integers]] = {
    "the sum of an earlier call": lambda sums: sums[0],
    "one more": one_more,
    "nothing": lambda sums: np.zeros_like(sums[-1]),
    "twice as much": lambda sums: 2 * sums[-1],
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_a_sum_that_was_changed_or_repeated_is_noticed(lie: Callable[[list[Integers]], Integers]) -> None:
    with pytest.raises(CollectiveError, match="sum 2 is not of the numbers that these parties have just sent"):
        cheated(partial(Liar, lie=lie), calls=2)
    cheated(partial(Liar, lie=lambda sums: sums[-1]), calls=2)


def test_a_sum_that_lacks_a_party_is_noise_and_noticed() -> None:
    class Less(PassesOn):
        """The aggregator leaves the second party's contribution out of the sum."""

        def __init__(self, inner: Collective) -> None:
            self.inner = inner

        def add_integers(self, values: Integers) -> Integers:
            return self.inner.add_integers(np.zeros_like(values) if self.rank == 1 else values)

        def allgather(self, data: bytes) -> Sequence[bytes]:
            return self.inner.allgather(data)

    with pytest.raises(CollectiveError, match="it was changed, repeated, or lacks a party"):
        cheated(Less)


def test_keys_are_not_shown() -> None:
    def share(line: Collective) -> tuple[str, bytes]:
        masked = Masking(NAMES, SIGNERS[NAMES[line.rank]]).begin(line, "train")
        assert isinstance(masked, MaskedCollective)
        return repr(masked), masked.check

    for text, check in in_step([share] * 3):
        assert repr(check) not in text
        assert "pairs" not in text
