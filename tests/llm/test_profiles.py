"""Models with their settings under names."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agentrt.errors import ConfigurationError, ProfileMissing
from agentrt.llm.profiles import LLMRegistry, ProfileStore
from agentrt.specs import LLM, AnyLLM, FallbackLLM, RouterLLM

pytestmark = pytest.mark.simulated

FAST = LLM(model="openai/fast", temperature=0.2, extra_headers={"anthropic-beta": "x"}, usage_id="fast")
STRONG = LLM(model="anthropic/strong", api_key_env="MINE", usage_id="strong")


@pytest.fixture
def store(tmp_path: Path) -> ProfileStore:
    return ProfileStore(tmp_path / "new" / "profiles.json")


@pytest.mark.parametrize(
    "llm", [FAST, FallbackLLM((FAST, STRONG)), RouterLLM(llms={"primary": STRONG, "secondary": FAST})]
)
def test_a_spec_comes_back_as_it_was(store: ProfileStore, llm: AnyLLM) -> None:
    store.save("one", llm)
    assert ProfileStore(store.path).load("one") == llm


def test_profiles_are_saved_replaced_and_removed(store: ProfileStore) -> None:
    assert store.names() == ()
    store.save("b", FAST)
    store.save("a", FAST)
    store.save("b", STRONG)
    assert store.names() == ("a", "b")
    assert store.load("b") == STRONG
    store.remove("a")
    assert store.names() == ("b",)


def test_the_file_is_for_its_owner_and_readable(store: ProfileStore) -> None:
    store.save("b", STRONG)
    store.save("a", LLM(model="openai/fast"))
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert {path.name for path in store.path.parent.iterdir()} == {"profiles.json", "profiles.lock"}
    assert store.path.read_text() == (
        '{\n  "version": 1,\n  "profiles": {\n'
        '    "a": {\n      "type": "LLM",\n      "model": "openai/fast"\n    },\n'
        '    "b": {\n      "type": "LLM",\n      "model": "anthropic/strong",\n      "api_key_env": "MINE",\n'
        '      "usage_id": "strong"\n    }\n  }\n}\n'
    )


def test_it_is_in_the_store_of_conversations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTRT_HOME", str(tmp_path))
    assert ProfileStore().path == tmp_path / "profiles.json"
    monkeypatch.delenv("AGENTRT_HOME")
    assert ProfileStore().path == Path.home() / ".agentrt" / "profiles.json"


def test_one_that_is_missing_is_refused_with_those_that_exist(store: ProfileStore) -> None:
    with pytest.raises(ProfileMissing, match=r"no profile 'x': .*\(known: none\)"):
        store.load("x")
    store.save("b", FAST)
    store.save("a", FAST)
    with pytest.raises(ProfileMissing, match=r"no profile 'x': .*\(known: a, b\)") as missing:
        store.remove("x")
    assert (missing.value.name, missing.value.known) == ("x", ("a", "b"))


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("{", "Input data was truncated"),
        ("[]", "Expected `object`, got `array`"),
        ('{"version": 1, "profiles": {"a": {"type": "LLM"}}}', "missing required field `model`"),
        ('{"version": 1, "profiles": {"a": {"type": "FallbackLLM", "llms": []}}}', "at least one LLM"),
        ('{"version": 2, "profiles": {}}', "are of version 2, not 1: update agentrt"),
        ("\udcff", "profiles"),
    ],
)
def test_a_broken_file_is_one_error_with_its_path(store: ProfileStore, broken: str, said: str) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(broken.encode(errors="surrogateescape"))
    for use in (store.names, lambda: store.load("a"), lambda: store.save("a", FAST), lambda: store.remove("a")):
        with pytest.raises(ConfigurationError) as error:
            use()
        assert str(store.path) in str(error.value)
        assert said in str(error.value)
    assert store.path.read_bytes() == broken.encode(errors="surrogateescape")


def test_where_nothing_can_be_written_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot read .*: Not a directory|Errno 20"):
        ProfileStore(tmp_path / "file" / "profiles.json").save("a", FAST)


@pytest.mark.parametrize(
    ("llm", "said"),
    [
        (LLM(model="m", extra_headers={"Authorization": "Bearer x"}), "'Authorization' in extra_headers of 'm' holds"),
        (LLM(model="m", extra_headers={"x-api-key": "x"}), "'x-api-key' in extra_headers"),
        (LLM(model="m", extra_body={"api_key": "x"}), "'api_key' in extra_body"),
        (FallbackLLM((FAST, LLM(model="m", extra_headers={"API-KEY": "x"}))), "as api_key_env"),
        (LLM(model="m", api_key_env="sk-hunter2"), "api_key_env of 'm' is not the name of an environment variable"),
        (LLM(model="m", base_url="https://me:hunter2@host/v1"), "base_url of 'm' holds a password"),
    ],
)
def test_a_spec_with_a_key_in_it_is_refused(store: ProfileStore, llm: AnyLLM, said: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        store.save("a", llm)
    assert said in str(error.value)
    assert "hunter2" not in str(error.value)
    assert not store.path.exists()


@pytest.mark.parametrize("name", ["", " a", "a b", "-a", "a/b", "a\n", "é" * 101])
def test_a_name_is_a_word(store: ProfileStore, name: str) -> None:
    with pytest.raises(ConfigurationError, match="invalid name of a profile"):
        store.save(name, FAST)


@pytest.mark.pure
def test_a_registry_has_all_models_by_their_usage_id() -> None:
    registry = LLMRegistry()
    registry.add(FallbackLLM((FAST, RouterLLM(llms={"a": STRONG}, rule="cost"))))
    registry.add(FAST)
    assert registry.usage_ids() == ("fast", "strong")
    assert registry.get("strong") is STRONG
    with pytest.raises(ConfigurationError, match=r"no model has the usage_id 'x': add it \(known: fast, strong\)"):
        registry.get("x")


@pytest.mark.pure
def test_a_registry_refuses_two_models_of_one_usage_id() -> None:
    registry = LLMRegistry()
    registry.add(FAST)
    other = LLM(model="openai/other", usage_id="fast")
    with pytest.raises(ConfigurationError, match="'fast', openai/fast and openai/other: give each its own"):
        registry.add(FallbackLLM((STRONG, other)))
    assert registry.usage_ids() == ("fast",)
