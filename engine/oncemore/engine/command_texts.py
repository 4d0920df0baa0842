"""Which words does Oncemore say to a person who gives it a command?

Every text stands in every language, with the same places to fill in. None of them names anything internal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "help": "Each of these alone in a message is for Oncemore itself; everything else goes to the agent.\n"
        "/status: what is being done now\n"
        "/why: what was decided last about your last message\n"
        "/stop: end what is being done for you, else your newest message that is open\n"
        "/new: end what is in hand for you and begin a new conversation\n"
        "/help: this list",
        "nothing_to_stop": "Nothing of yours is running or open here, so nothing was stopped.",
        "left": "A new conversation begins with the next message. What was already done stays as it is.",
        "not_left": "No new conversation was begun and nothing was stopped: somebody else's message is still being"
        " worked on here, or waits for it.",
        "status": "As of {at}:",
        "idle": "Nothing is running.",
        "running_own": "A message of yours is being worked on since {since}.",
        "running_other": "A message of somebody else is being worked on since {since}.",
        "queue": "Messages that wait for their turn: {count}.",
        "no_message": "You have not asked the agent for anything in this conversation.",
        "last": "Your last message, of {at}, {stands}",
        "is_running": "is being worked on.",
        "is_queued": "waits for its turn.",
        "is_replying": "has an answer that is on its way.",
        "is_waiting": "is looked at again by itself, at {until}; /why says why.",
        "is_waiting_untimed": "is looked at again by itself; /why says why.",
        "is_held": "needs somebody to look at it.",
        "is_resting": "is not being worked on, and nothing more happens by itself; /why says why.",
        "is_answered": "is answered.",
        "is_stopped": "was stopped.",
        "is_superseded": "was replaced by a later one.",
        "nothing_decided": "Nothing was decided about your last message yet.",
        "no_rule": "No rule takes up your last message once more.",
        "queue_full": "This message was not taken in: {count} messages already wait here. Please send it again later.",
        "not_shown": "What was decided about your last message can no longer be shown.",
    },
    "zh": {
        "help": "以下词语单独成一条消息时由 Oncemore 处理，其他内容都会交给智能体。\n"
        "/status：当前正在做什么\n"
        "/why：对您上一条消息的最近一次决定\n"
        "/stop：停止正在为您做的事；若没有，则停止您最近一条未结束的消息\n"
        "/new：停止手头为您做的事，并开始新的对话\n"
        "/help：本列表",
        "nothing_to_stop": "这里没有您正在进行或未结束的任务，因此没有停止任何内容。",
        "left": "下一条消息将开始新的对话。已完成的内容保持原样。",
        "not_left": "没有开始新的对话，也没有停止任何内容：这里还有其他人的消息正在处理或等待处理。",
        "status": "截至 {at}：",
        "idle": "当前没有任务在运行。",
        "running_own": "您的一条消息自 {since} 起正在处理。",
        "running_other": "其他人的一条消息自 {since} 起正在处理。",
        "queue": "等待处理的消息：{count} 条。",
        "no_message": "您在本次对话中还没有向智能体提出请求。",
        "last": "您 {at} 的上一条消息{stands}",
        "is_running": "正在处理。",
        "is_queued": "正在排队。",
        "is_replying": "已有答复，正在送达。",
        "is_waiting": "将于 {until} 自动再次查看；可用 /why 了解原因。",
        "is_waiting_untimed": "将自动再次查看；可用 /why 了解原因。",
        "is_held": "需要有人查看。",
        "is_resting": "没有在处理，系统也不会再自动执行任何操作；可用 /why 了解原因。",
        "is_answered": "已答复。",
        "is_stopped": "已停止。",
        "is_superseded": "已被后来的消息取代。",
        "nothing_decided": "尚未对您的上一条消息作出任何决定。",
        "no_rule": "没有规则会再次处理您的上一条消息。",
        "queue_full": "这条消息没有被接收：这里已有 {count} 条消息在等待。请稍后再发送一次。",
        "not_shown": "对您上一条消息的决定已无法显示。",
    },
}

LANGUAGES: Final = tuple(WORDS)


def say(name: str, language: str, **places: object) -> str:
    """The text of a name, filled in; English where there is no other."""
    return WORDS.get(language, WORDS["en"])[name].format(**places)
