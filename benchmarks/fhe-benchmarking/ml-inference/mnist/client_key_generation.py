"""Keys for so many images: the secret key for the client, the relinearization key for the server; no rotation key."""

from common import Run, limbwise

run = Run()
run.emptied(run.io)
limbwise("keygen", "mlp", "--images", run.images, "--client", run.secret, "--server", run.public)
