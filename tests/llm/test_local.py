"""The local backend on a tiny random model: memory that is cut back, extended, shared; steps; text."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from turngap.budget.clock import monotonic
from turngap.budget.errors import ConfigurationError, ModelError, StageError
from turngap.llm.backends import make_backend
from turngap.llm.protocol import Delta, Limits, Message, Role, Urgency, Usage

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from turngap.llm.backends.engine import General  # noqa: E402 - after the skips
from turngap.llm.backends.generation import PIECE, Generation, Mind, Model, Preparation  # noqa: E402
from turngap.llm.backends.linear import PRODUCTS  # noqa: E402
from turngap.llm.backends.llama import Llama, Shape  # noqa: E402
from turngap.llm.backends.local import LocalBackend, LocalReply  # noqa: E402
from turngap.llm.backends.prompt import Prompts, Replies  # noqa: E402
from turngap.llm.backends.sampling import Detokeniser, Sampler, Taste  # noqa: E402

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SYSTEM = Message(Role.SYSTEM, "Be brief.")
ASK = [SYSTEM, Message(Role.USER, "A latte please")]


def tiny_model() -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=260,
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=0.3,
    )
    return transformers.LlamaForCausalLM(config).eval()


def bytes_tokenizer() -> Any:
    """One token per byte, so that characters come in halves."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    model = tokenizers.models.BPE(vocab={symbol: i for i, symbol in enumerate(alphabet)}, merges=[])
    raw = tokenizers.Tokenizer(model)
    raw.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = tokenizers.decoders.ByteLevel()
    raw.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|im_end|>")
    tokenizer.chat_template = TEMPLATE
    return tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny")
    tiny_model().save_pretrained(path)
    bytes_tokenizer().save_pretrained(path)
    return path


@pytest.fixture
def backend(folder: Path) -> Iterator[LocalBackend]:
    made = make_backend(f"local:{folder}?precision=fp32&context=400", find_model=Path, clock=monotonic)
    assert isinstance(made, LocalBackend)
    yield made
    asyncio.run(made.aclose())


def lean(precision: str = "fp32") -> Llama:
    model = tiny_model()
    shape = Shape.of(model.config.to_dict())
    assert shape is not None
    return Llama(shape, model.state_dict(), precision=precision, device=torch.device("cpu"), context=512)


def model() -> Model:
    tokenizer = bytes_tokenizer()
    return Model(lean(), tokenizer, Prompts(tokenizer), frozenset({257}), 400, Taste(), shared={})


def run_out(generation: Generation, mind: Mind) -> str:
    text = ""
    while not generation.done:
        text += generation.step(mind)
    return text


# Forward passes.


def test_the_lean_forward_computes_what_transformers_does() -> None:
    whole, engine = tiny_model(), lean()
    ids = list(range(7, 47))
    with torch.inference_mode():
        expected = whole(torch.tensor([ids])).logits[0, -1]
    held = engine.fresh()
    engine.forward(ids[:20], held, rows=0)
    engine.forward(ids[20:39], held, rows=0)
    torch.testing.assert_close(engine.forward(ids[39:], held)[0], expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    "odd",
    [
        {"model_type": "gpt2"},
        {"hidden_act": "gelu"},
        {"attention_bias": True},
        {"mlp_bias": True},
        {"rope_scaling": {"type": "linear", "factor": 2.0}},
        {"rope_parameters": {"rope_type": "yarn"}},
        {"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}},
    ],
    ids=lambda odd: next(iter(odd)),
)
def test_a_model_that_computes_something_else_is_left_to_transformers(odd: dict[str, Any]) -> None:
    assert Shape.of(tiny_model().config.to_dict() | odd) is None


def test_a_configuration_that_says_little_means_the_defaults() -> None:
    shape = Shape.of(
        {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 9}
    )
    assert shape is not None
    assert (shape.kv_heads, shape.head_width, shape.eps, shape.theta) == (4, 16, 1e-6, 10_000.0)


@pytest.mark.parametrize("kind", ["lean", "general"])
def test_a_memory_cut_back_and_extended_equals_a_cold_prefill(kind: str) -> None:
    engine: Any = lean() if kind == "lean" else General(tiny_model(), precision="fp32", device=torch.device("cpu"))
    cold, held = engine.fresh(), engine.fresh()
    expected = engine.forward([1, 2, 3, 4, 9, 8, 7], cold)
    engine.forward([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], held)
    held.crop(4)
    twin = held.copy()
    engine.forward([99, 98], held)
    torch.testing.assert_close(engine.forward([9, 8, 7], twin), expected, atol=1e-4, rtol=1e-4)
    assert (held.length, twin.length) == (6, 7)


def test_the_general_forward_takes_small_weights_too() -> None:
    ids, exact = list(range(7, 27)), lean()
    general = General(tiny_model(), precision="fp16", device=torch.device("cpu"))
    expected = exact.forward(ids, exact.fresh())
    torch.testing.assert_close(general.forward(ids, general.fresh()), expected, atol=0.05, rtol=0.05)


@pytest.mark.parametrize(("precision", "tolerance"), [("int8", 0.04), ("fp16", 0.001), ("bf16", 0.01)])
def test_small_weights_multiply_nearly_as_well_even_beside_an_outlier_row(precision: str, tolerance: float) -> None:
    torch.manual_seed(1)
    weight, x = torch.randn(64, 48), torch.randn(5, 48)
    x[0] *= 1000
    exact, got = x @ weight.T, PRODUCTS[precision](weight)(x.bfloat16() if precision == "bf16" else x).float()
    error = (got - exact).norm(dim=1) / exact.norm(dim=1)
    assert error.max() < tolerance


def test_int8_does_not_saturate() -> None:
    """Every product at its largest: 16-bit sums of pairs would overflow with 8-bit weights."""
    product = PRODUCTS["int8"](torch.ones(16, 64))
    torch.testing.assert_close(product(torch.ones(3, 64)), torch.full((3, 16), 64.0), atol=0.6, rtol=0)


# Prompts and memory.


def test_a_reply_is_put_into_the_history_as_the_ids_that_were_sampled() -> None:
    prompts, replies = Prompts(bytes_tokenizer()), Replies()
    spelled = bytes_tokenizer().encode("One latte.")
    replies.remember(spelled)
    heard = [*ASK, Message(Role.ASSISTANT, "One lat"), Message(Role.USER, "stop")]
    assert replies.beginning("One lat", bytes_tokenizer()) == spelled[:7]
    text = bytes_tokenizer().decode(prompts.whole(heard, replies))
    assert text == bytes_tokenizer().decode(prompts.whole(heard, Replies()))


def test_markers_of_the_template_are_plain_text_in_what_a_user_says() -> None:
    ids = Prompts(bytes_tokenizer()).whole([Message(Role.USER, "hi<|im_end|>")], Replies())
    assert ids.count(257) == 1


def test_preparing_takes_in_what_every_later_prompt_begins_with() -> None:
    prompts, replies = Prompts(bytes_tokenizer()), Replies()
    for known in ([SYSTEM], ASK, [*ASK, Message(Role.ASSISTANT, "Sure.")]):
        later = [*known[:-1], Message(known[-1].role, known[-1].content)]
        if later[-1].role is Role.USER:
            later[-1] = Message(Role.USER, later[-1].content + " now")
        else:
            later.append(Message(Role.USER, "And tea"))
        beginning = prompts.beginning(known, replies)
        assert prompts.whole(later, replies)[: len(beginning)] == beginning


def test_a_second_turn_prefills_only_its_new_tokens() -> None:
    mind = Mind(model())
    first = Generation(ASK, Limits(max_tokens=12), monotonic)
    said = run_out(first, mind)
    messages = [*ASK, Message(Role.ASSISTANT, said), Message(Role.USER, "Thanks")]
    second = Generation(messages, Limits(max_tokens=2), monotonic)
    run_out(second, mind)
    fresh = len("\nuser\nThanks\nassistant\n") + 4  # and four markers, a token each
    assert second.usage.prefilled_tokens is not None
    # The last sampled token was never fed back, and white space at the reply's edges may differ.
    assert second.usage.prefilled_tokens <= fresh + 4


def test_the_system_prompt_is_prefilled_once_for_all_conversations() -> None:
    shared = model()
    one, two = Generation(ASK, Limits(max_tokens=2), monotonic), Generation(ASK, Limits(max_tokens=2), monotonic)
    texts = run_out(one, Mind(shared)), run_out(two, Mind(shared))
    assert texts[0] == texts[1]
    assert one.usage.cached_tokens == 0
    assert two.usage.cached_tokens == len(shared.prompts.beginning([SYSTEM], Replies()))


def test_a_warm_reply_says_what_a_cold_one_does() -> None:
    mind = Mind(model())
    run_out(Generation([SYSTEM, Message(Role.USER, "Another question")], Limits(max_tokens=9), monotonic), mind)
    warm = run_out(Generation(ASK, Limits(max_tokens=9), monotonic), mind)
    assert warm == run_out(Generation(ASK, Limits(max_tokens=9), monotonic), Mind(model()))


@pytest.mark.parametrize("seed", range(5))
def test_drafts_that_were_dropped_change_no_reply_and_cost_no_prefill(seed: int) -> None:
    """Revised wordings, dropped at any step: what they share with the reply's prompt stays, the rest is cut away."""
    chance, mind = random.Random(seed), Mind(lettered())
    talk, words = [SYSTEM], "a latte with oat milk and two muffins please"
    for _ in range(3):
        for _ in range(chance.randint(1, 4)):
            wording = words[: chance.randint(1, len(words))] + chance.choice(["", " no", "?"])
            asked = [*talk, Message(Role.USER, wording)]
            work: Preparation | Generation = Generation(asked, Limits(max_tokens=9), monotonic, Urgency.DRAFT)
            if chance.random() < 0.5:
                work = Preparation(asked)
            for _ in range(chance.randint(1, 8)):
                if not work.done:
                    work.step(mind)
        talk.append(Message(Role.USER, words))
        warm = Generation(talk, Limits(max_tokens=20), monotonic)
        text = run_out(warm, mind)
        cold = Generation(talk, Limits(max_tokens=20), monotonic)
        assert (text, warm.tokens) == (run_out(cold, Mind(lettered())), cold.tokens)
        template = len("\nuser\n" + "\nassistant\n") + 4  # and four markers, a token each
        assert (warm.usage.prefilled_tokens or 0) <= len(words) + template + 1
        talk.append(Message(Role.ASSISTANT, text))


def test_a_full_context_drops_the_oldest_turns_and_says_so() -> None:
    mind = Mind(model())
    talk = [Message(Role.USER if i % 2 == 0 else Role.ASSISTANT, f"{i} and so on") for i in range(25)]
    generation = Generation([SYSTEM, *talk], Limits(max_tokens=3), monotonic)
    run_out(generation, mind)
    assert generation.usage.dropped_messages
    assert generation.usage.dropped_messages % 2 == 0
    again = Generation([SYSTEM, *talk], Limits(max_tokens=3), monotonic)
    run_out(again, mind)
    assert again.usage.dropped_messages == generation.usage.dropped_messages
    assert again.usage.prefilled_tokens == 1


def test_room_is_made_between_the_turns_so_that_nobody_waits_for_it() -> None:
    mind, talk, most, dropped = Mind(model()), [SYSTEM], 0, 0
    for turn in range(30):
        talk.append(Message(Role.USER, f"{turn} and so on"))
        reply = Generation(talk, Limits(max_tokens=5), monotonic)
        talk.append(Message(Role.ASSISTANT, run_out(reply, mind) or "yes"))
        most = max(most, reply.usage.prefilled_tokens or 0) if turn else 0
        dropped = reply.usage.dropped_messages or 0
        preparation = Preparation(talk)
        while not preparation.done:
            preparation.step(mind)
    assert dropped > 20
    assert most < 60


def test_a_prompt_that_cannot_fit_is_an_error_with_a_remedy() -> None:
    with pytest.raises(StageError) as failed:
        run_out(Generation([Message(Role.USER, "word " * 99)], Limits(), monotonic), Mind(model()))
    assert "context" in failed.value.remedy


def test_a_long_prompt_is_taken_in_by_bounded_steps() -> None:
    mind, steps = Mind(model()), 0
    generation = Generation([Message(Role.USER, "x" * 200)], Limits(max_tokens=1), monotonic)
    while not generation.done:
        before = mind.length
        generation.step(mind)
        assert mind.length - before <= PIECE
        steps += 1
    assert steps >= 200 // PIECE


def test_less_urgent_work_goes_by_shorter_steps_until_it_is_hastened() -> None:
    made = model()
    made.short = 8
    mind, taken = Mind(made), []
    generation = Generation([Message(Role.USER, "x" * 200)], Limits(max_tokens=1), monotonic, Urgency.DRAFT)
    preparation = Preparation([Message(Role.USER, "x" * 60)])
    for step in (preparation, preparation, generation, generation, generation):
        before = mind.length
        step.step(mind)
        taken.append(mind.length - before)
        if len(taken) == 4:
            generation.urgency = Urgency.LIVE
    assert taken == [8, 8, 8, 8, PIECE]


def test_a_preparation_that_is_closed_leaves_the_memory_alone() -> None:
    mind, preparation = Mind(model()), Preparation([Message(Role.USER, "x" * 200)])
    preparation.step(mind)
    length = mind.length
    preparation.closed = True
    preparation.step(mind)
    assert (preparation.done, mind.length) == (True, length)


def test_a_closed_reply_makes_no_further_step() -> None:
    mind = Mind(model())
    generation = Generation(ASK, Limits(), monotonic)
    generation.step(mind)
    length = mind.length
    generation.closed = True
    assert generation.step(mind) == ""
    assert (generation.done, mind.length, generation.usage.finish) == (True, length, None)


# Openers.


def opened(words: str) -> list[Message]:
    return [*ASK, Message(Role.ASSISTANT, words)]


def lettered() -> Model:
    """A model that says letters and spaces only, so that every beginning of its replies is a text."""

    class Lettered:
        def __init__(self) -> None:
            self.fresh = engine.fresh

        def forward(self, ids: list[int], held: Any, *, rows: int = 1) -> Any:
            logits = engine.forward(ids, held, rows=rows)
            return torch.where(allowed, logits, float("-inf"))

    made = model()
    engine, allowed = made.engine, torch.zeros(260, dtype=torch.bool)
    allowed[made.tokenizer.encode("abcdefghijklmnopqrstuvwxyz ,.")] = True
    made.engine = Lettered()
    return made


@pytest.mark.parametrize("length", range(1, 20))
def test_going_on_from_the_beginning_of_a_reply_says_its_rest(length: int) -> None:
    whole = run_out(Generation(ASK, Limits(max_tokens=30), monotonic), Mind(lettered()))
    opener = whole[:length]
    reply = Generation(opened(opener), Limits(max_tokens=30 - len(opener.strip())), monotonic)
    assert opener + run_out(reply, Mind(lettered())) == whole
    assert reply.usage.completion_tokens == 30 - len(opener.strip())


def test_an_opener_is_prefilled_behind_what_is_warm_and_stays_warm_itself() -> None:
    mind = Mind(lettered())
    run_out(Generation(ASK, Limits(max_tokens=2), monotonic), mind)
    reply = Generation(opened("Sure,"), Limits(max_tokens=5), monotonic)
    said = "Sure," + run_out(reply, mind)
    assert reply.usage.prefilled_tokens == len("Sure,")
    assert reply.usage.completion_tokens == 5
    turn = Generation([*opened(said), Message(Role.USER, "Thanks")], Limits(max_tokens=1), monotonic)
    run_out(turn, mind)
    assert turn.usage.cached_tokens is not None
    assert turn.usage.cached_tokens >= (reply.usage.prompt_tokens or 0) + 4


def test_the_ids_of_a_draft_that_begins_with_the_opener_are_used_but_not_from_inside_of_a_word() -> None:
    prompts, replies, tokenizer = Prompts(bytes_tokenizer()), Replies(), bytes_tokenizer()
    replies.remember([5, *tokenizer.encode("Sure, a latte")])
    assert prompts.opening(ASK, " ", replies) == []
    assert prompts.opening(ASK, "Sure, a ", replies) == tokenizer.encode("Sure, a")
    replies.remember(tokenizer.encode(" Sure, a lat"))
    assert prompts.opening(ASK, "Sure, a", replies) == tokenizer.encode(" Sure, a")
    assert prompts.opening(ASK, "Sure, a latch", replies) == tokenizer.encode("Sure, a latch")


def test_a_tokenizer_whose_pieces_do_not_join_is_given_the_whole() -> None:
    class Spacing(Prompts):
        def _joins(self) -> bool:
            return False

    prompts = Spacing(bytes_tokenizer())
    assert prompts.opening(ASK, "Sure, ", Replies()) == bytes_tokenizer().encode("Sure,")


def test_the_repetition_guard_sees_the_opener() -> None:
    class Seen(Sampler):
        def choose(self, logits: Any, said: Any) -> int:
            seen.append(list(said))
            return super().choose(logits, said)

    seen: list[list[int]] = []
    generation, mind = Generation(opened("Sure,"), Limits(max_tokens=1), monotonic), Mind(model())
    generation._begin(mind, 0)
    generation._sampler = Seen(Taste())
    run_out(generation, mind)
    assert seen == [bytes_tokenizer().encode("Sure,")]


def test_the_last_user_words_are_never_dropped_for_an_opener() -> None:
    talk = [Message(Role.USER if i % 2 == 0 else Role.ASSISTANT, f"{i} and so on") for i in range(25)]
    generation = Generation([SYSTEM, *talk, Message(Role.ASSISTANT, "Sure,")], Limits(max_tokens=3), monotonic)
    run_out(generation, Mind(model()))
    assert generation.usage.dropped_messages
    assert generation.usage.prompt_tokens is not None
    assert generation.usage.prompt_tokens <= 400 - 3


# Tokens to text.


def test_half_a_character_is_never_given_out() -> None:
    tokenizer = bytes_tokenizer()
    ids, text, given = tokenizer.encode("  né 😀 ok"), Detokeniser(tokenizer, ()), []
    for count in range(1, len(ids) + 1):
        given.append(text.feed(ids[:count]))
    assert "".join(given) + text.feed(ids, last=True) == "né 😀 ok"
    assert not any("\ufffd" in piece for piece in given)


def test_a_stop_string_is_never_given_out_even_in_part() -> None:
    tokenizer = bytes_tokenizer()
    ids, text, given = tokenizer.encode("Sure.\nUser: no"), Detokeniser(tokenizer, ("\nUser:",)), ""
    for count in range(1, len(ids) + 1):
        given += text.feed(ids[:count])
        if text.stopped:
            break
    assert given == "Sure."


def test_a_run_is_not_said_twice() -> None:
    logits = torch.tensor([0.0, 5.0, 1.0])
    sampler = Sampler(Taste(repetition=1.0, span=3))
    assert sampler.choose(logits.clone(), [2, 2]) == 1
    assert sampler.choose(logits.clone(), [2, 2, 1, 0, 2, 2]) == 2


def test_temperature_draws_the_same_for_the_same_seed() -> None:
    taste = Taste(temperature=1.0, seed=7)
    draws = [[Sampler(taste).choose(torch.arange(9.0), []) for _ in range(3)] for _ in range(2)]
    assert draws[0] == draws[1]


# The backend.


async def read(backend: LocalBackend, limits: Limits) -> tuple[str, Usage]:
    conversation = backend.converse()
    reply = conversation.reply(ASK, limits=limits)
    text = "".join([delta.text async for delta in reply])
    await conversation.aclose()
    return text, reply.usage


def test_conversations_at_once_say_what_each_says_alone(backend: LocalBackend) -> None:
    async def talk() -> None:
        await backend.warm()
        alone, usage = await read(backend, Limits(max_tokens=12))
        together = await asyncio.gather(*(read(backend, Limits(max_tokens=12)) for _ in range(3)))
        assert [text for text, _ in together] == [alone] * 3
        assert usage.finish in ("stop", "length")
        assert [span.what for span in usage.spans][:2] == ["queue", "prefill"]
        assert all(span.start <= span.end for span in usage.spans)
        assert backend.describe()["forward"] == "lean"

    asyncio.run(talk())


def test_a_closed_reply_ends_and_the_next_one_works(backend: LocalBackend) -> None:
    async def talk() -> None:
        conversation = backend.converse()
        reply = conversation.reply(ASK, limits=Limits(max_tokens=40))
        first: Delta = await anext(reply)
        assert first.text
        await reply.aclose()
        await reply.aclose()
        assert [delta async for delta in reply] == []
        again = conversation.reply(ASK, limits=Limits(max_tokens=40))
        assert (await anext(again)).text == first.text
        assert again.usage.prefilled_tokens == 1

    asyncio.run(talk())


def test_a_live_reply_of_another_conversation_overtakes_a_draft(backend: LocalBackend) -> None:
    async def talk() -> None:
        await backend.warm()
        order: list[str] = []

        async def say(name: str, reply: LocalReply) -> None:
            async for _ in reply:
                pass
            order.append(name)

        limits = Limits(max_tokens=40)
        draft, committed = (backend.converse().reply(ASK, limits=limits, urgency=Urgency.DRAFT) for _ in range(2))
        idle = backend.converse().reply(ASK, limits=limits, urgency=Urgency.IDLE)
        live = backend.converse().reply(ASK, limits=limits)
        async with asyncio.TaskGroup() as tasks:
            for name, reply in (("idle", idle), ("draft", draft), ("committed", committed), ("live", live)):
                tasks.create_task(say(name, reply))
            await asyncio.sleep(0)
            committed.hasten()
        assert order.index("committed") < order.index("draft") < order.index("idle")
        assert order.index("live") < order.index("draft")

    asyncio.run(talk())


def test_a_reply_that_is_closed_by_another_task_ends_for_its_reader(backend: LocalBackend) -> None:
    async def talk() -> None:
        reply = backend.converse().reply(ASK, limits=Limits(max_tokens=40))
        reading = asyncio.ensure_future(anext(reply, None))
        await asyncio.sleep(0)
        await reply.aclose()
        assert await reading is None

    asyncio.run(talk())


def test_a_reader_that_gave_up_can_read_on(backend: LocalBackend) -> None:
    async def talk() -> None:
        reply = backend.converse().reply(ASK, limits=Limits(max_tokens=4))
        reading = asyncio.ensure_future(anext(reply))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        [_ async for _ in reply]
        assert reply.usage.finish in ("stop", "length")

    asyncio.run(talk())


def test_preparing_leaves_the_memory_to_a_reply_that_is_made(backend: LocalBackend) -> None:
    async def talk() -> None:
        conversation = backend.converse()
        preparing = asyncio.ensure_future(conversation.prepare([SYSTEM, Message(Role.USER, "x" * 150)]))
        await asyncio.sleep(0)
        reply = conversation.reply(ASK, limits=Limits(max_tokens=12))
        first = await anext(reply)
        await conversation.prepare([SYSTEM, Message(Role.USER, "something else")])
        await preparing
        text = first.text + "".join([delta.text async for delta in reply])
        assert text == (await read(backend, Limits(max_tokens=12)))[0]

    asyncio.run(talk())


def test_what_was_prepared_needs_no_prefill(backend: LocalBackend) -> None:
    async def talk() -> None:
        conversation = backend.converse()
        await conversation.prepare(ASK)
        reply = conversation.reply(ASK, limits=Limits(max_tokens=1))
        [_ async for _ in reply]
        assert reply.usage.prefilled_tokens == len("\n") + len("\n") + len("assistant") + 2

    asyncio.run(talk())


def test_a_reply_after_the_end_is_a_stage_error(folder: Path) -> None:
    async def talk() -> None:
        backend = make_backend(f"local:{folder}?precision=fp32", find_model=Path, clock=monotonic)
        await backend.aclose()
        with pytest.raises(StageError):
            await anext(backend.converse().reply(ASK, limits=Limits()))

    asyncio.run(talk())


def test_a_folder_without_a_model_is_a_model_error(tmp_path: Path) -> None:
    async def talk() -> None:
        backend = make_backend(f"local:{tmp_path}", find_model=Path, clock=monotonic)
        with pytest.raises(ModelError) as failed:
            await backend.warm()
        assert failed.value.remedy
        await backend.aclose()

    asyncio.run(talk())


@pytest.mark.parametrize("options", ["threads=0", "context=3", "repetition=0", "speed=9"])
def test_options_out_of_range_are_refused(options: str) -> None:
    with pytest.raises(ConfigurationError):
        make_backend(f"local?{options}", find_model=Path, clock=monotonic)


def test_tokens_that_were_expected_change_no_reply() -> None:
    shared = model()
    plain = run_out(Generation(ASK, Limits(max_tokens=20), monotonic), Mind(shared))
    drafted = Generation(ASK, Limits(max_tokens=20), monotonic)
    mind, steps, text = Mind(shared), 0, ""
    while not drafted.done:
        text += drafted.step(mind)
        steps += 1
    assert text == plain
    assert drafted.usage.completion_tokens is not None
    assert steps < drafted.usage.completion_tokens / 2, "the second time the reply is expected"
