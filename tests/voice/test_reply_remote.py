"""A reply from a server, as it stands in the turn's ledger."""

import asyncio

import pytest

from turngap.budget.clock import MS, monotonic
from turngap.budget.ledger import TurnLedger
from turngap.budget.marks import Mark, Stage
from turngap.llm.backends.remote.backend import RemoteBackend
from turngap.llm.backends.remote.dialects import DIALECTS
from turngap.llm.emulators.pace import Pace
from turngap.llm.emulators.server import Emulator
from turngap.llm.protocol import Limits, Message, Role
from turngap.llm.spec import Spec
from turngap.voice.events import DraftId
from turngap.voice.reply import Reply
from turngap.voice.tts.tone import ToneSynthesizer


@pytest.mark.socket
def test_the_wait_for_a_server_is_split_in_the_ledger() -> None:
    async def talk() -> TurnLedger:
        ledger = TurnLedger(1)
        async with Emulator("groq", Pace(ttft=60 * MS, queue=20 * MS, rate=500)) as server:
            spec = Spec("groq", "m", {"url": server.url})
            backend = RemoteBackend(DIALECTS["groq"], spec, environment={"GROQ_API_KEY": "test-key"}, clock=monotonic)
            await backend.warm()
            reply = Reply(DraftId(turn=1, revision=1, attempt=1), ToneSynthesizer(clock=monotonic), monotonic)
            ledger.mark(Mark.TRANSCRIPT, monotonic(), revision=1, released_by=None)
            reply.page.enter(ledger)
            await reply.run(
                backend.converse(),
                [Message(Role.USER, "A latte")],
                limits=Limits(),
                stall=2_000 * MS,
                asked_at=monotonic(),
                released_by=Mark.TRANSCRIPT,
            )
            await backend.aclose()
        return ledger

    page = asyncio.run(talk()).view(1)
    waits = {span.what: span.end - span.start for span in page.spans if span.stage is Stage.PREFILL}
    assert (waits["queue"], waits["prefill"]) == (20 * MS, 40 * MS)
    assert waits["network"] > 0
    assert page.notes["llm_server_queue_ms"] == 20
    assert page.notes["llm_connection"] == "reused"
    assert page.marks[Mark.FIRST_TOKEN].at - page.marks[Mark.REQUEST].at >= 60 * MS
