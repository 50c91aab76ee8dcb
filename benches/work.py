"""Times a piece of work and prints what it took: wall-clock and processor seconds."""
import json
import time


def measure(work, rounds):
    """Warms up with one round, then times `rounds` rounds of `work` and prints them as JSON."""
    work()
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(rounds):
        work()
    processor = time.process_time() - processor
    wall = time.perf_counter() - wall
    print(json.dumps({"wall": wall, "processor": processor}))
