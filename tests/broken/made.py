"""Broken files that are made by the test: large ones, and what is no file at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

POLICY = """\
policy: p
revision: 1
summary:
  en: {sentence}
  zh: 续办一次。
when: turn.status == "completed"
gates:
  - id: latest
    require: {condition}
    otherwise: hold
    why:
      en: A newer turn stands in the conversation.
      zh: 会话中已有更新的轮次。
then:
  action: continue_work
  attempt: work
"""


def policy(sentence: str = "Finishes work once.", condition: str = "native.latest") -> str:
    return POLICY.format(sentence=sentence, condition=condition)


def one_line_of_a_megabyte(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy("x" * 999_000), encoding="utf-8")


def a_mistake_at_the_end_of_a_long_line(folder: Path) -> None:
    listed = ", ".join(['"completed"'] * 300)
    (folder / "p.yaml").write_text(policy(condition=f'native.status in [{listed}, "complete"]'), encoding="utf-8")


def a_mistake_at_the_beginning_of_a_long_line(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy(condition="native.lates || " + "(native.latest) || " * 200 + "native.latest"))


def chinese_on_a_long_line(folder: Path) -> None:
    line = "{en: " + "中文" * 2_000 + ", zh: 中, de: x, fr: " + "中文" * 2_000 + "}"
    (folder / "p.yaml").write_text(policy().replace("\n  en: Finishes work once.\n  zh: 续办一次。", f" {line}"))


def a_long_condition(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy(condition=" || ".join(["native.latest"] * 400)), encoding="utf-8")


def more_than_a_million_characters(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy() + "# " + "x" * 1_000_000 + "\n", encoding="utf-8")


def far_more_than_a_million_characters(folder: Path) -> None:
    (folder / "p.yaml").touch()
    os.truncate(folder / "p.yaml", 2**40)


def too_many_values(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy() + "more: [" + "1, " * 60_000 + "]\n", encoding="utf-8")


def brackets_within_brackets(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy() + "more: " + "[" * 100_000 + "\n", encoding="utf-8")


def lines_within_lines(folder: Path) -> None:
    (folder / "p.yaml").write_text("\n".join(" " * depth + "a:" for depth in range(1_000)) + "\n", encoding="utf-8")


def facts_within_facts(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy(), encoding="utf-8")
    (folder / "case.json").write_text('{"facts": ' * 100_000, encoding="utf-8")


def hundreds_of_mistakes(folder: Path) -> None:
    keys = "".join(f"k{number}: 1\n" for number in range(500))
    (folder / "p.yaml").write_text(policy() + keys, encoding="utf-8")


def thousands_of_facts_misspelt(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy(), encoding="utf-8")
    facts = ", ".join(f'"native.latest_{number}": true' for number in range(15_000))
    (folder / "case.json").write_text(f'{{"facts": {{{facts}}}}}', encoding="utf-8")


def thousands_of_keys_twice(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy() + "a: 1\n" * 20_000, encoding="utf-8")


def thousands_of_gates_with_mistakes(folder: Path) -> None:
    gates = "".join(f"  - {{id: g{n}, require: native.lates, otherwise: wait, why: {{en: a}}}}\n" for n in range(4_000))
    (folder / "p.yaml").write_text(policy().replace("gates:\n", f"gates:\n{gates}"), encoding="utf-8")


def thousands_of_gates(folder: Path) -> None:
    gates = "".join(
        f"  - {{id: g{n}, require: native.latest, otherwise: wait, why: {{en: a, zh: 中}}}}\n" for n in range(3_000)
    )
    (folder / "p.yaml").write_text(policy().replace("gates:\n", f"gates:\n{gates}"), encoding="utf-8")


def thousands_of_tests_with_mistakes(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy(), encoding="utf-8")
    cases = "".join(f"  - {{name: n{n}, facts: {{native.lates: 1}}, expect: {{outcome: hol}}}}\n" for n in range(4_000))
    (folder / "p_test.yaml").write_text(f"policy: p\ncases:\n{cases}", encoding="utf-8")


def a_name_of_a_megabyte(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy(condition="native." + "latest" * 600).replace("hold", "hold" * 100_000))


def a_picture(folder: Path) -> None:
    head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 8
    (folder / "p.yaml").write_bytes(head)


def zeros(folder: Path) -> None:
    (folder / "p.yaml").write_bytes(b"\x00" * 100_000)


def a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "p.yaml")


def a_pipe_for_facts(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy(), encoding="utf-8")
    os.mkfifo(folder / "case.yaml")


def a_device(folder: Path) -> None:
    (folder / "p.yaml").symlink_to("/dev/zero")


def a_folder_of_that_name(folder: Path) -> None:
    (folder / "p.yaml").mkdir()


def a_folder_among_groups(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy().replace("gates:\n", "gates:\n  - use: g\n"), encoding="utf-8")
    (folder / "groups" / "g.yaml").mkdir(parents=True)


def a_file_that_cannot_be_read(folder: Path) -> None:
    """Opening it works, for root as well; reading it does not."""
    (folder / "p.yaml").symlink_to("/proc/self/mem")


def a_link_to_nothing(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy(), encoding="utf-8")
    (folder / "q.yaml").symlink_to("elsewhere/q.yaml")


def a_group_that_is_a_link_to_nothing(folder: Path) -> None:
    (folder / "p.yaml").write_text(policy().replace("gates:\n", "gates:\n  - use: g\n"), encoding="utf-8")
    (folder / "groups").mkdir()
    (folder / "groups" / "g.yaml").symlink_to("elsewhere/g.yaml")


def a_link_to_itself(folder: Path) -> None:
    (folder / "p.yaml").symlink_to("p.yaml")


def a_name_that_acts_on_a_terminal(folder: Path) -> None:
    (folder / "\x1b[31mp.yaml").write_text(policy(condition="native.lates"), encoding="utf-8")


def a_name_that_is_not_utf_8(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.yaml")).write_text(policy(condition="native.lates"))


MADE: Mapping[str, Callable[[Path], None]] = {
    made.__name__.replace("_", "-"): made
    for made in (
        one_line_of_a_megabyte,
        a_mistake_at_the_end_of_a_long_line,
        a_mistake_at_the_beginning_of_a_long_line,
        chinese_on_a_long_line,
        a_long_condition,
        more_than_a_million_characters,
        far_more_than_a_million_characters,
        too_many_values,
        brackets_within_brackets,
        lines_within_lines,
        facts_within_facts,
        hundreds_of_mistakes,
        thousands_of_facts_misspelt,
        thousands_of_keys_twice,
        thousands_of_gates,
        thousands_of_gates_with_mistakes,
        thousands_of_tests_with_mistakes,
        a_name_of_a_megabyte,
        a_picture,
        zeros,
        a_pipe,
        a_pipe_for_facts,
        a_device,
        a_folder_of_that_name,
        a_folder_among_groups,
        a_file_that_cannot_be_read,
        a_link_to_nothing,
        a_group_that_is_a_link_to_nothing,
        a_link_to_itself,
        a_name_that_acts_on_a_terminal,
        a_name_that_is_not_utf_8,
    )
}
