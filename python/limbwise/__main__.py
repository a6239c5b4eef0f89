"""``python -m limbwise`` is the command ``limbwise``."""

from limbwise._command import main

if __name__ == "__main__":
    main()
