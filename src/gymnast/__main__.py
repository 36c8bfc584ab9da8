"""`python -m gymnast` is the same as `gymnast`."""

from gymnast.cli.app import main

if __name__ == "__main__":
    main()
