"""The App conversation, kept in the journal: a Source whose book can be read completely."""

from oncemore.adapters.inbox.source import Inbox, Post

__all__ = ["Inbox", "Post"]
