from __future__ import annotations

from tests.cli.conftest import Alita


def test_a_search_in_vain_is_in_the_journal(alita: Alita) -> None:
    assert alita("search", "zebra", "husbandry", "--json").json["fit"] == "none"
    found = [row["detail"]["query"] for row in alita("log", "--json").json if row["event"] == "found nothing"]
    assert found == ["zebra husbandry"]
