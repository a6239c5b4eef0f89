"""Scores to labels: the largest of ten."""

from common import Run, existing, stop

run = Run()
rows = existing(run.scores, "client_decrypt_decode").read_text().split()
scores = [[float(cell) for cell in row.split(",")] for row in rows]
if len(scores) != run.images or any(len(row) != 10 for row in scores):
    stop(f"{run.scores} has {len(scores)} rows; wanted {run.images} of 10 scores")
run.predictions.write_text("".join(f"{row.index(max(row))}\n" for row in scores))
