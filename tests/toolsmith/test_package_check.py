"""Names of packages that somebody chose: which may be used, and why not."""

from __future__ import annotations

from alita_mcp.toolsmith.package_check import find_slip


def test_a_package_may_be_used_whatever_its_version() -> None:
    assert find_slip(["numpy>=2", "NumPy", "owlery==1.0"]) is None


def test_a_look_alike_is_refused_unless_a_caller_pins_it() -> None:
    alike = find_slip(["numpy", "reqeusts>=2"], pinned_are_meant=True)
    assert alike is not None
    assert (alike.stage, alike.hard) == ("environment", True)
    assert "may be a mistyped 'requests'" in alike.message
    assert "Did you mean 'requests'?" in alike.fix
    assert "pin its version" in alike.fix
    assert find_slip(["reqeusts==2.0"], pinned_are_meant=True) is None
    assert find_slip(["reqeusts==2.0"]) is not None, "a model's own pin proves nothing"
