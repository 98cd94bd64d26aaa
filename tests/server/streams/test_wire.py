"""Messages of a socket as they are on the wire."""

from __future__ import annotations

import pytest
from wsproto.connection import Connection, ConnectionType
from wsproto.events import TextMessage

from agentrt.server.streams.wire import framed

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("length", [0, 1, 125, 126, 65_535, 65_536, 200_000])
def test_a_message_is_framed_as_clients_read_it(length: int) -> None:
    client = Connection(ConnectionType.CLIENT)
    client.receive_data(framed("é" * length) + framed("next"))
    texts, whole = list[str](), ""
    for event in client.events():
        assert isinstance(event, TextMessage)
        whole += event.data
        if event.message_finished:
            texts.append(whole)
            whole = ""
    assert texts == ["é" * length, "next"]
