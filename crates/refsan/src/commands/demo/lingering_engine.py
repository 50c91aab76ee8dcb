import time

import refsan_demo

refsan_demo.predict([0.5] * 1000)  # the engine keeps the only reference
time.sleep(2)  # something unrelated
print("script done", flush=True)
