"""Crash: plain arrays, and allocation churn on the main thread meanwhile."""
import signal

import extension

signal.alarm(60)
for _ in range(4):
    for _ in range(6):
        extension.predict(*[bytearray(64) for _ in range(100000)])
    while not extension.idle():
        churn = [bytearray(64) for _ in range(1000)]
        del churn
print("idle")
