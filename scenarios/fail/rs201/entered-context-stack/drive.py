import signal

import extension


class Context:
    def __enter__(self):
        extension.push(self)
        return self

    def __exit__(self, *exception):
        extension.pop()


signal.alarm(30)
with Context():
    print("inside")
Context().__enter__()
print("end of script, one context entered")
