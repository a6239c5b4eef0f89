"""The parts of ``limbwise sweep`` that need Python libraries: search by pymoo, clusters by Ray.

Run by the command as ``python -m limbwise._sweep ROLE``. Both sides talk in lines of JSON: standard input has a first line
that says what there is to do, and then answers; standard output has questions or rows; standard error is for people.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

# Most points of a generation: with fewer, fronts of three objectives are thin; with more, there are few generations.
_POPULATION = 40
# Parts of the work for each worker: the last to end is then late by a few per cent at most.
_PARTS = 16


def _say(what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _hear() -> Any:
    line = sys.stdin.readline()
    if not line:
        sys.exit(1)  # the other half went away
    return json.loads(line)


def nsga2(space: dict[str, Any]) -> None:
    """Search a grid by NSGA-II: request points (one choice per field) and receive their costs.

    Args:
        space: ``values`` (how many each field has), ``objectives`` (how many costs), ``evaluations``, ``seed``.
    """
    import numpy as np
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.evaluator import Evaluator
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.mutation.pm import PM
    from pymoo.operators.repair.rounding import RoundingRepair
    from pymoo.operators.sampling.rnd import IntegerRandomSampling
    from pymoo.problems.static import StaticProblem

    values = np.array(space["values"])
    objectives, evaluations = int(space["objectives"]), int(space["evaluations"])
    # A point that is refused breaks a constraint: it has no costs, and loses to all that have.
    problem = Problem(n_var=len(values), n_obj=objectives, n_ieq_constr=1, xl=0, xu=values - 1, vtype=int)
    algorithm = NSGA2(
        pop_size=min(_POPULATION, evaluations, int(np.prod(values, dtype=float))),
        sampling=IntegerRandomSampling(),
        crossover=SBX(prob=1.0, eta=3.0, vtype=float, repair=RoundingRepair()),
        mutation=PM(prob=1.0, eta=3.0, vtype=float, repair=RoundingRepair()),
        eliminate_duplicates=True,
    )
    algorithm.setup(problem, termination=("n_eval", evaluations), seed=int(space["seed"]), verbose=False)
    left = evaluations
    while left > 0 and algorithm.has_next():
        asked = algorithm.ask()
        if asked is None or len(asked) == 0:
            return  # every point that it can think of is known
        asked = asked[:left]
        left -= len(asked)
        _say({"ask": [[int(choice) for choice in point] for point in asked.get("X")]})
        told = _hear()["tell"]
        costs = np.array([cost if cost is not None else [0.0] * objectives for cost in told])
        broken = np.array([[0.0 if cost is not None else 1.0] for cost in told])
        Evaluator().eval(StaticProblem(problem, F=costs, G=broken), asked)
        algorithm.tell(infills=asked)


class _Worker:
    """A ``limbwise sweep --serve`` on some machine of the cluster; it keeps its recordings from part to part."""

    def __init__(self, command: list[str]) -> None:
        start = [sys.executable, "-c", "from limbwise._command import main; main()", *command]
        self._process = subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def rows(self, points: list[int]) -> list[str]:
        """Return the row of each point, as the program wrote it."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        rows = []
        for point in points:
            stdin.write(f"{point}\n")
            stdin.flush()
            rows.append(stdout.readline())
        if not all(rows):
            raise RuntimeError(f"limbwise sweep --serve ended with {self._process.wait()}")
        return rows


def _parts(points: list[int], count: int) -> Iterator[list[int]]:
    """Split points into parts; neighbors stay together, because they share a program and its recording."""
    size = max(1, -(-len(points) // count))
    for start in range(0, len(points), size):
        yield points[start : start + size]


def ray(work: dict[str, Any]) -> None:
    """Evaluate points on a Ray cluster; rows arrive in any order.

    Args:
        work: ``command`` (words of ``limbwise sweep --serve``), ``points`` (their numbers).
    """
    # Its types say less than it takes.
    cluster: Any = importlib.import_module("ray")
    pool_of: Any = importlib.import_module("ray.util").ActorPool

    # Standard output is for rows alone.
    rows, sys.stdout = sys.stdout, sys.stderr
    address = os.environ.get("RAY_ADDRESS")
    cluster.init(
        address=address, include_dashboard=None if address else False, log_to_driver=False, logging_level=logging.ERROR
    )
    try:
        workers = max(1, int(cluster.cluster_resources().get("CPU", 1)))
        pool = pool_of([cluster.remote(_Worker).remote(work["command"]) for _ in range(workers)])
        parts = _parts(work["points"], workers * _PARTS)
        for part in pool.map_unordered(lambda worker, points: worker.rows.remote(points), parts):
            rows.writelines(part)
            rows.flush()
    finally:
        cluster.shutdown()


def main() -> None:
    """Run the subcommand named by the first argument."""
    role = {"nsga2": (nsga2, "pymoo", "search"), "ray": (ray, "ray", "ray")}.get(" ".join(sys.argv[1:]))
    if role is None:
        sys.exit("limbwise._sweep is run by limbwise sweep: --search nsga2 or --on ray")
    run, library, extra = role
    try:
        run(_hear())
    except ModuleNotFoundError as error:
        sys.exit(f"{library} is not there ({error}): pip install 'limbwise[{extra}]'")
    except BrokenPipeError:
        sys.exit(1)  # the other half went away


if __name__ == "__main__":
    main()
