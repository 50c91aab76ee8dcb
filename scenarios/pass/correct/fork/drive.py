import os
import signal

import extension

signal.alarm(30)
print("parent", extension.churn(), flush=True)
child = os.fork()
if child == 0:
    print("child", extension.churn(), flush=True)
    os._exit(5)
_, status = os.waitpid(child, 0)
print("child's status", os.WEXITSTATUS(status))
child = os.fork()
if child == 0:
    print("child that finalizes", extension.churn(), flush=True)
    raise SystemExit(6)
_, status = os.waitpid(child, 0)
print("child's status", os.WEXITSTATUS(status))
print("parent", extension.churn())
