"""How is the durable-rules C module loaded, on every Python that it can run on?"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

from oncemore.engine.errors import EngineUnavailable

ADVICE = (
    "durable-rules cannot be loaded by this Python. Build it anew, with the define that Python 3.13 needs:\n"
    "  CPPFLAGS=-DPyEval_CallObject=PyObject_CallObject "
    "python -m pip install --force-reinstall --no-cache-dir --no-deps durable-rules==2.0.28"
)


def load() -> ModuleType:
    """The C module, its symbols bound lazily.

    A build without the define names a function that Python 3.13 no longer has, but only in callbacks that are never
    set here; bound lazily it loads all the same. Where the linker forbids that, the advice says what to do.

    Raises:
        EngineUnavailable: the module is missing or cannot be loaded; its text is the advice.
    """
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags & ~os.RTLD_NOW | os.RTLD_LAZY)
    try:
        return importlib.import_module("durable_rules_engine")
    except ImportError as error:
        raise EngineUnavailable(f"{ADVICE}\n({error})") from error
    finally:
        sys.setdlopenflags(flags)
