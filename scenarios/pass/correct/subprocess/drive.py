import signal
import subprocess
import sys

import extension

signal.alarm(60)
print("parent", extension.churn(), flush=True)
child = "import extension; print('child', extension.churn()); raise SystemExit(3)"
done = subprocess.run([sys.executable, "-c", child], stdout=subprocess.PIPE, universal_newlines=True)
print(done.stdout.strip(), done.returncode)
done = subprocess.run(["/bin/sh", "-c", "echo shell; exit 4"], stdout=subprocess.PIPE, universal_newlines=True)
print(done.stdout.strip(), done.returncode)
done = subprocess.run([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"])
print("killed", done.returncode)
done = subprocess.run([sys.executable, "-c", "print('clean environment')"], env={}, stdout=subprocess.PIPE, universal_newlines=True)
print(done.stdout.strip(), done.returncode)
