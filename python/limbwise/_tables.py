"""Tables printed by plans and run reports: rows of name and value, by scheme."""

from __future__ import annotations

from typing import Any

from limbwise._reports import size

Rows = list[tuple[str, str]]


def table(rows: Rows) -> str:
    """Return rows as text."""
    width = max(len(what) for what, _ in rows)
    return "\n".join(f"{what:<{width}}  {much}" for what, much in rows)


def html(rows: Rows) -> str:
    """Return rows as a table for notebooks."""
    from html import escape

    cells = (f"<tr><th>{escape(what)}</th><td>{escape(much)}</td></tr>" for what, much in rows)
    return f"<table>{''.join(cells)}</table>"


def _security(f: dict[str, Any]) -> Rows:
    """Class and standard; the reason if the security check was overridden."""
    ring = f.get("ring")
    log_qp = f", log QP {ring['log_qp']:.0f}" if ring else ""
    rows = [("security", f"{f['security_bits']} bits ({f['security']['standard']}{log_qp})")]
    if f["security"].get("insecure_reason"):
        rows.append(("INSECURE", f["security"]["insecure_reason"]))
    return rows


def _lwe(f: dict[str, Any]) -> str:
    lwe = f["lwe"]
    return f"N = 2^{lwe['log_n']}, {lwe['dimension']} steps, {lwe['message_bits']} message bits"


def _ring(f: dict[str, Any]) -> str:
    ring = f["ring"]
    return f"N = 2^{ring['log_n']}, {sum(ring['limbs'])} limbs, dnum {ring['dnum']}"


def _slots(f: dict[str, Any]) -> tuple[str, Rows]:
    levels, boot = f["levels"], f.get("bootstrapping")
    rows = [("levels", f"{levels['used']} of {levels['fresh']} used, {f['levels_left']} left")]
    if boot:
        how = f"{boot['rotations']}, {boot['content']} values, fails with 2^{boot['log2_failure']:.0f}"
        rows.append(("bootstrapping", f"{boot['levels']} levels each time; {how}"))
    rows.append(("precision", f"{f['precision_bits']['predicted']:.1f} bits mean, expected"))
    missed = ", ".join(f"{one['function']} by up to {one['error']:.2g}" for one in f.get("approximations", []))
    if missed:
        rows.append(("polynomials", f"miss {missed}; not in the precision"))
    return _ring(f), rows


def _messages(f: dict[str, Any]) -> tuple[str, Rows]:
    failure = f["failure"]
    return _lwe(f), [
        ("bootstrappings", str(f["bootstrappings"])),
        ("failure", f"2^{failure['bootstrapping']:.0f} each, 2^{failure['program']:.0f} the program"),
    ]


def _integers(f: dict[str, Any]) -> tuple[str, Rows]:
    bits = f["budget_bits"]
    budget = f"{bits:.0f} bits left, at the least" if bits >= 0 else f"none: {-bits:.0f} bits too much noise"
    ring = f"N = 2^{f['log_n']}, {sum(f['limbs'])} limbs, integers modulo {f['plaintext_modulus']}"
    return ring, [("noise", budget)]


def _bridged(f: dict[str, Any]) -> tuple[str, Rows]:
    _, rows = _messages(f)
    behind, left = f["levels"]
    levels = ("levels", f"{behind} behind the bridge, {left} left")
    bridge = ("bridge", f"fails with 2^{f['log2_bridge_failure']:.0f}")
    return f"{_lwe(f)}; {_ring(f)}", [*rows, levels, bridge]


_PLANS = {"ckks": _slots, "tfhe": _messages, "bgv": _integers, "tfhe+ckks": _bridged}


def _keys(f: dict[str, Any]) -> str:
    count = {"tfhe": "two of TFHE", "tfhe+ckks": f"two of TFHE and {len(f['keys'])}"}.get(f["scheme"], len(f["keys"]))
    return f"{count}, {size(f['key_bytes'])} {f['key_form']}"


def of_plan(f: dict[str, Any]) -> Rows:
    """Return the table of a plan."""
    parameters, section = _PLANS[f["scheme"]](f)
    return [
        ("parameters", f"{f['preset']}: {parameters}"),
        *_security(f),
        *section,
        ("evaluation keys", _keys(f)),
        ("encoded values", size(f["plaintext_bytes"])),
        ("encrypted inputs", size(f["input_bytes"])),
        ("peak memory", size(f["peak_memory_bytes"]["predicted"])),
        ("time here", f"{f['seconds_predicted']:.3g} s on {f['threads']} threads ({f['isa']})"),
    ]


def _found(f: dict[str, Any]) -> Rows:
    if f["scheme"] == "ckks":
        bits, accuracy = f["precision_bits"], f.get("accuracy")
        rows = [
            ("precision", f"{bits['mean']:.1f} bits mean, {bits['min']:.1f} least; {bits['predicted']:.1f} predicted")
        ]
        if accuracy:
            rows.append(("accuracy", f"{accuracy['encrypted']:.4f} encrypted, {accuracy['clear']:.4f} in the clear"))
        return rows
    if f["scheme"] == "tfhe":
        return [("messages", f"{f['messages'] - f['wrong']} of {f['messages']} as the clear twin's")]
    if f["scheme"] == "bgv":
        return [("integers", f"{f['compared'] - f['wrong']} of {f['compared']} as the clear twin's ({f['checked']})")]
    answer = f["answer"]
    off = f"off by {answer['relative_error']:.1e} of it"
    table = f.get("table")
    got = "NULL" if answer["decrypted"] is None else f"{answer['decrypted']:.4f}"
    shown = f"{got}; exact {answer['exact']}; {off}"
    return [
        ("answer", f"{len(table['rows'])} rows; the number that is off most is {off}" if table else shown),
        ("rows", f"{f['rows_passing']} pass; {f['wrong']} decided otherwise than in the clear"),
    ]


def of_run(f: dict[str, Any]) -> Rows:
    """Return the table of a run."""
    peak = f["peak_memory_bytes"]
    measured = "not told by this system" if peak.get("measured") is None else size(peak["measured"])
    rows = [("workload", f"{f['workload']}, {f['preset']}, {f['security_bits']} bits of security")]
    if f.get("insecure_reason"):
        rows.append(("INSECURE", f["insecure_reason"]))
    return [
        *rows,
        *_found(f),
        ("seconds", f"{f['seconds']:.3g}; {f['seconds_predicted']:.3g} predicted"),
        ("peak memory", f"{measured}; {size(peak['predicted'])} predicted"),
        ("evaluation keys", f"{size(f['key_bytes'])} {f['key_form']}"),
        *(("WARNING", text) for text in f.get("warnings", [])),
    ]
