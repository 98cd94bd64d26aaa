"""The programs that a person has agreed to, by digest: one document each in the storage, where no agent writes."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ..specs.context import Offer
from ..storing import Shelf, replaced

KIND = "consents"


class Consent(msgspec.Struct, frozen=True):
    """A person's agreement to the programs of a project or a plugin."""

    name: str
    path: str
    conversation: str = ""


async def agreed_to(shelf: Shelf, offers: Iterable[Offer]) -> frozenset[str]:
    """Return the digests of the offers that a person has agreed to. Raises `ConfigurationError`."""
    digests = {offer.digest for offer in offers}
    return frozenset(digests.intersection(await shelf.names(KIND))) if digests else frozenset()


async def agree(shelf: Shelf, offer: Offer, conversation: str = "") -> None:
    """Remember that a person agreed. Raises `ConfigurationError`."""
    data = msgspec.json.encode(Consent(offer.name, offer.path, conversation))
    await replaced(shelf, KIND, offer.digest, lambda held: data)


async def withdraw(shelf: Shelf, digest: str) -> None:
    """Forget that a person agreed, so that a person is asked again. Raises `ConfigurationError`."""
    await shelf.delete(KIND, digest)
