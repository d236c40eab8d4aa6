"""How flows start: what each rule of the start costs and gives, by sweeps over scenarios/start.

The tables and figures of docs/start.md and of docs/probe-rtt.md come from here.
"""
