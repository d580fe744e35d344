"""The space kept back beside the catalog."""

from artifactctl.catalog import ballast, create_or_upgrade


def test_a_new_catalog_has_its_whole_ballast_allocated(location, noon):
    create_or_upgrade(location, now=noon).close()

    pieces = sorted(location.with_name("catalog.db-ballast").iterdir())
    assert len(pieces) == ballast.PIECES
    assert all(piece.stat().st_blocks * 512 >= ballast.PIECE_BYTES for piece in pieces)


def test_pieces_are_given_up_one_by_one_and_come_back(location, noon):
    create_or_upgrade(location, now=noon).close()

    given_up = [ballast.release(location) for _ in range(ballast.PIECES + 1)]
    left = sum(piece.stat().st_blocks for piece in location.with_name("catalog.db-ballast").iterdir())
    refilled = ballast.fill(location)

    assert given_up == [True] * ballast.PIECES + [False]
    assert left == 0
    assert refilled == ballast.PIECES
    assert ballast.release(location)


def test_without_ballast_there_is_nothing_to_give_up(location):
    assert not ballast.release(location)
