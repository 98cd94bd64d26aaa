"""Stores files with the password `secret`, by a soffice that listens at 2002: encrypt.py FILE TARGET FILTER ..."""

import sys
import time
from pathlib import Path

import uno
from com.sun.star.beans import PropertyValue

local = uno.getComponentContext()
resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
for _ in range(100):
    try:
        there = resolver.resolve("uno:socket,host=127.0.0.1,port=2002;urp;StarOffice.ComponentContext")
        break
    except Exception:
        time.sleep(0.3)
desktop = there.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", there)


def value(name, given):
    return PropertyValue(Name=name, Value=given)


for source, target, kind in zip(*[iter(sys.argv[1:])] * 3, strict=True):
    found = desktop.loadComponentFromURL(Path(source).resolve().as_uri(), "_blank", 0, (value("Hidden", True),))
    found.storeToURL(Path(target).resolve().as_uri(), (value("FilterName", kind), value("Password", "secret")))
    found.close(True)
desktop.terminate()
