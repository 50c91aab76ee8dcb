import signal

import extension

signal.alarm(30)
for on_thread in (False, True):
    try:
        extension.run(on_thread)
    except RuntimeError as error:
        print(error)
