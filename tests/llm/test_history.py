"""History: what was really said."""

from turngap.llm.history import History, parted
from turngap.llm.protocol import Message, Role


def test_a_draft_leaves_no_trace() -> None:
    history = History("Be brief.")
    assert history.messages_with("Hi") == (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hi"))
    assert history.messages == (Message(Role.SYSTEM, "Be brief."),)


def test_an_unanswered_contribution_is_joined_by_the_next() -> None:
    history = History()
    history.user("A latte")
    assert history.messages_with("please") == (Message(Role.USER, "A latte please"),)


def test_a_reply_that_nobody_heard_is_not_written() -> None:
    history = History()
    history.user("Hello")
    history.assistant("  ")
    assert history.messages == (Message(Role.USER, "Hello"),)


def test_roles_alternate() -> None:
    history = History()
    history.user("One")
    history.assistant("Sure,")
    history.assistant("one latte.")
    history.user("Thanks")
    assert [message.content for message in history.messages] == ["One", "Sure, one latte.", "Thanks"]


def test_an_opener_ends_the_prompt_and_is_parted_from_it_again() -> None:
    history = History("Be brief.")
    messages = history.messages_with("Hi", opener="Sure, ")
    assert messages[-1] == Message(Role.ASSISTANT, "Sure, ")
    assert parted(messages) == (history.messages_with("Hi"), "Sure, ")
    assert history.messages_with("Hi", opener=" ") == history.messages_with("Hi")


def test_most_prompts_have_no_opener() -> None:
    asked = (Message(Role.USER, "Hi"),)
    assert parted(asked) == (asked, "")
    assert parted(()) == ((), "")
    assert parted((*asked, Message(Role.ASSISTANT, " "))) == (asked, "")


def test_a_contribution_is_cut_short_and_taken_out_by_its_key() -> None:
    history = History()
    history.user("One", key="u")
    history.assistant("Sure, one latte.", key="a")
    history.user("Thanks", key="v")
    history.revise("a", "Sure,")
    assert [message.content for message in history.messages] == ["One", "Sure,", "Thanks"]
    history.forget("a")
    assert history.messages == (Message(Role.USER, "One Thanks"),), "roles alternate all the same"


def test_a_contribution_is_put_where_it_was_said() -> None:
    history = History()
    history.add("b", Role.USER, "second")
    history.add("a", Role.USER, "first", after="")
    history.add("c", Role.ASSISTANT, "third", after="b")
    history.add("d", Role.USER, "last", after="unknown")
    assert [message.content for message in history.messages] == ["first second", "third", "last"]
    assert history.messages_with("", system="Other.")[0] == Message(Role.SYSTEM, "Other.")
