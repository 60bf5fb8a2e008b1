"""`python -m wb` is the command `wb`."""

from wb.cli import main

if __name__ == "__main__":
    main()
