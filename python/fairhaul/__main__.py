"""`python -m fairhaul`: the command line."""

from fairhaul.cli import main

if __name__ == "__main__":
    main()
