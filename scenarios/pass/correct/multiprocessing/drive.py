import multiprocessing
import signal

import extension


def work(number):
    return number * extension.churn()


if __name__ == "__main__":
    signal.alarm(60)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(work, range(8)))
            pool.close()
            pool.join()
