"""Which embedder a setting names; what is wrong with it is said at the start, or leaves search to words."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.library.opening import open_library
from alita_mcp.models.embedder_choice import choose_embedder
from alita_mcp.models.embedding.model2vec import WEIGHTS, Model2vecEmbedder
from alita_mcp.settings import Settings

pytestmark = pytest.mark.extra("search")

WORDS = ["[UNK]", "[PAD]", "cat", "dog", "car"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model of three words in model2vec's format."""
    model2vec = pytest.importorskip("model2vec", reason="the extra `embeddings` is not installed")
    np, tokenizers = pytest.importorskip("numpy"), pytest.importorskip("tokenizers")
    words = tokenizers.models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.eye(len(WORDS), 8, dtype="float32")
    place = tmp_path / "model"
    model2vec.StaticModel(vectors=vectors, tokenizer=tokenizer).save_pretrained(str(place))
    return place


async def test_a_model2vec_folder_gives_vectors(folder: Path) -> None:
    embedder = choose_embedder(str(folder))
    cat, same, dog = await embedder.embed(["cat", "cat", "dog car"])
    assert list(cat) == list(same)
    assert list(cat) != list(dog)
    assert len(dog) == 8
    assert embedder.name.startswith("model2vec/model@")
    assert len(await embedder.embed(["", "unknown words only", "cat " * 5_000])) == 3


async def test_another_table_in_a_folder_of_the_same_name_is_another_model(folder: Path) -> None:
    before = choose_embedder(str(folder)).name
    weights = folder / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert choose_embedder(str(folder)).name != before


@pytest.mark.parametrize("choice", ["ollama/x", "openai/text-embedding-3-small", "x base_url=http://a"])
def test_what_names_no_embedder_is_said_with_what_does(choice: str) -> None:
    with pytest.raises(UsageError, match="names no embedder"):
        choose_embedder(choice)


@pytest.mark.parametrize("file", [WEIGHTS, "tokenizer.json", "config.json"])
async def test_a_damaged_folder_is_an_error_of_the_model(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"\0garbage")
    with pytest.raises(ModelError, match="cannot be used"):
        await choose_embedder(str(folder)).embed(["cat"])


def test_a_folder_without_a_model_is_said_at_once(tmp_path: Path) -> None:
    for wrong in (tmp_path, tmp_path / "missing", Path("~/no/such/folder/anywhere")):
        with pytest.raises(UsageError, match=r"holds no model\.safetensors.*ALITA_EMBEDDER"):
            choose_embedder(str(wrong))


def test_a_model2vec_name_is_loaded_at_first_use_only() -> None:
    embedder = choose_embedder("model2vec/minishlab/potion-base-8M")
    assert isinstance(embedder, Model2vecEmbedder)
    assert embedder.name == "model2vec/minishlab/potion-base-8M"


@pytest.mark.parametrize(
    "text",
    [
        "raise ValueError('at import')",
        "this is no python",
        "class Own:\n    def __init__(self): raise OSError('in the constructor')",
        "class Own:\n    def __init__(self, needed): pass",
        "class Own:\n    embed = None\n    name = 'x'",
        "class Own:\n    async def embed(self, texts): return []",
        "Own = 7",
        "",
    ],
)
def test_a_class_that_cannot_be_used_is_said_at_once(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "somebodys_own.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "somebodys_own", raising=False)
    with pytest.raises(UsageError, match="somebodys_own:Own"):
        choose_embedder("somebodys_own:Own")


async def test_a_library_opens_and_answers_by_words_under_a_damaged_model(folder: Path, home: Path) -> None:
    (folder / WEIGHTS).write_bytes(b"\0garbage")
    with anyio.fail_after(60):
        async with open_library(Settings(home=home, embedder=str(folder))) as library:
            assert (await library.search("extract text from html", 3)).results


async def test_a_library_says_at_its_opening_which_embedder_cannot_be_loaded(
    home: Path, tmp_path: Path
) -> None:
    for wrong in (str(tmp_path), "no_such_module:Class"):
        with anyio.fail_after(60), pytest.raises(UsageError, match="ALITA_EMBEDDER"):
            async with open_library(Settings(home=home, embedder=wrong)):
                pass
