from types import SimpleNamespace

import refsan_demo

refsan_demo.enter(SimpleNamespace(name="context"))  # and never left
print("script done", flush=True)
