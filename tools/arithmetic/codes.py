"""The operations of eBPF instructions, and the relations of jumps."""

from __future__ import annotations

ADD, SUB, MUL, DIV, OR, AND, LSH, RSH, NEG, MOD, XOR, MOV, ARSH = range(0, 0xD0, 0x10)
JUMPS = {0x10: "==", 0x20: ">", 0x30: ">=", 0x50: "!=", 0x60: "s>", 0x70: "s>=", 0xA0: "<"}
JUMPS |= {0xB0: "<=", 0xC0: "s<", 0xD0: "s<="}
OPPOSITE = {"==": "!=", "!=": "==", ">": "<=", "<=": ">", "<": ">=", ">=": "<"}
