"""`python -m vq` is `vq`."""

from vq.cli import main

if __name__ == "__main__":
    main()
