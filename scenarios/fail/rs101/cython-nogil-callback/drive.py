import signal

import extension

signal.alarm(30)
extension.keep(["forgotten by the engine"])
print(extension.run())
