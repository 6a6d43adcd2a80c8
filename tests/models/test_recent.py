"""What was computed lately: the same object for the same key, and no more than asked for."""

from flora.models.recent import Recent


def test_a_value_is_made_once_and_the_latest_are_kept() -> None:
    made: list[bytes] = []
    recent: Recent[object] = Recent(most=2)

    def value(key: bytes) -> object:
        def make() -> object:
            made.append(key)
            return object()

        return recent.recall(key, make)

    first = value(b"a")
    assert value(b"a") is first
    value(b"b")
    assert value(b"a") is first  # it is the latest now
    value(b"c")
    assert value(b"a") is first
    value(b"b")
    assert made == [b"a", b"b", b"c", b"b"]
