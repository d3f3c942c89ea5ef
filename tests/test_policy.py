"""policy, words, wrappers: which commands a policy denies."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hotenv.errors import UsageError
from hotenv.shell.policy import DeniedError, Policy
from hotenv.shell.words import commands
from hotenv.shell.wrappers import Inner, inner_commands

_BESIDE = Path(sys.executable).with_name("shfmt")
SHFMT = str(_BESIDE) if _BESIDE.exists() else shutil.which("shfmt")
needs_parser = pytest.mark.skipif(SHFMT is None, reason="shfmt is not installed")
pytestmark = needs_parser


def parsed(text: str) -> object:
    """The tree of ``text``."""
    done = subprocess.run(
        [str(SHFMT), "-ln", "bash", "--to-json"], input=text.encode(), capture_output=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(policy: Policy, text: str) -> None:
    """Check ``text`` and the scripts in it."""
    for script, _ in policy.check(parsed(text)):
        check(policy, script)


def is_denied(policy: Policy, text: str) -> bool:
    """Whether ``text`` is denied."""
    try:
        check(policy, text)
    except DeniedError:
        return True
    return False


NO_RM = Policy(deny=["rm"])
ONLY_LS = Policy(allow=["ls"])


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf /",
        "/bin/rm a",
        "./rm a",
        "\\rm a",
        "r\\m a",
        "'rm' a",
        '"rm" a',
        "r'm' a",
        "r\\\nm a",
        "true; rm a",
        "true && rm a",
        "true || rm a",
        "true | rm a",
        "rm a &",
        "(rm a)",
        "{ rm a; }",
        "! rm a",
        "if rm a; then :; fi",
        "for i in a; do rm $i; done",
        "while :; do rm a; done",
        "case a in a) rm a;; esac",
        "f() { rm a; }",
        "echo $(rm a)",
        "echo `rm a`",
        'echo "$(rm a)"',
        "echo ${x:-$(rm a)}",
        "echo $((1 + $(rm a)))",
        "x=$(rm a)",
        "export x=$(rm a)",
        "a[$(rm a)]=1",
        "[[ -f $(rm a) ]]",
        "cat <(rm a)",
        "cat <<END\n$(rm a)\nEND",
        "cat > $(rm a)",
        "A=1 rm a",
        "env rm a",
        "env -i A=1 B=2 rm a",
        "env -u A -C / rm a",
        "sudo rm a",
        "sudo -nu root -- rm a",
        "sudo A=1 rm a",
        "time rm a",
        "time -p rm a",
        "\\time -f x rm a",
        "nice rm a",
        "nice -n 10 rm a",
        "nice -10 rm a",
        "nice --adjustment=10 rm a",
        "timeout 5 rm a",
        "timeout -k 1 -s INT 5 rm a",
        "timeout --signal INT --foreground 5 rm a",
        "nohup rm a",
        "echo a | xargs rm",
        "xargs -0 -n 1 -I{} rm {}",
        "find . -exec rm {} ;",
        "find . -exec rm {} \\;",
        "find . -name '*' -execdir ls {} + -ok rm {} \\;",
        "sh -c 'rm a'",
        "bash -ec 'ls; rm a'",
        "bash -x -o pipefail -c 'rm a'",
        "sh -c \"sh -c 'rm a'\"",
        "command rm a",
        "command -p rm a",
        "builtin rm a",
        "exec rm a",
        "exec -a ls rm a",
        "coproc rm a",
        "coproc X { rm a; }",
        "eval rm a",
        "eval 'rm a'",
        "trap 'rm a' EXIT",
        "env nice sudo timeout 1 sh -c 'nohup rm a'",
        "sudo --unknown rm a",
        "env -S 'x' rm",
    ],
)
def test_there_is_no_way_around_these(text: str) -> None:
    """What is denied is denied wherever it stands and however it is written.

    Under an allow list that does not have it, too.
    """
    assert is_denied(NO_RM, text)
    words = ["ls", "true", "echo", "cat", "export", "find", "trap", ":", "x"]
    assert is_denied(Policy(allow=words), text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# rm",
        "git commit -m 'rm -f is bad'",
        "echo rm",
        "echo 'a; rm b'",
        "rmdir a",
        "cat <<END\nrm a\nEND",
        "env A=rm ls",
        "command -v rm",
        "sh rm",
        "sh -c 'echo rm'",
        "find . -name rm",
        "x=rm",
        "trap - EXIT",
    ],
)
def test_what_is_no_program(text: str) -> None:
    """A word that is denied as a program may stand anywhere else."""
    assert not is_denied(NO_RM, text)


@pytest.mark.parametrize(
    "text",
    [
        "ls",
        "ls -l $x | ls; ls > a",
        "A=1 ls",
        "time ls",
        "env A=1 ls",
        "timeout 5 nice sudo ls $x",
        "xargs ls",
        "sh -c 'ls; ls'",
        "command ls",
        "exec ls",
        "[[ -f a ]] && ls",
        "for i in 1 2; do ls $i; done",
        "x=1",
        "\\ls; 'ls'",
    ],
)
def test_what_is_allowed(text: str) -> None:
    """Wrappers need not be in the list, nor does syntax."""
    assert not is_denied(ONLY_LS, text)


@pytest.mark.parametrize(
    "text",
    [
        "cat",
        "/bin/ls",
        "./ls",
        "$x",
        "l$x",
        "$(ls)",
        "l?",
        "{ls,cat}",
        "~/ls",
        "@(ls)",
        "$'l\\x73'",
        'l""$x',
        "eval ls",
        "source ls",
        ". ls",
        "alias ls=cat",
        "cd a",
        "env",
        "sudo -s",
        "exec 3>a",
        "env $x",
        "env $x ls",
        "timeout $x ls",
        "/tmp/env ls",
        "/tmp/sh -c ls",
        'sh -c "$x"',
        "sh -c $x",
        "sh $x",
        "sh script",
        "bash",
        "xargs sh",
        "watch ls",
        "find . -exec ls ;",
        "PATH=. ls",
        "env PATH=. ls",
        "LD_PRELOAD=./a ls",
        "BASH_ENV=a sh -c ls",
        "PATH=.",
        "for PATH in .; do ls; done",
        "select PATH in .; do ls; done",
        "let x=1",
        "declare x",
        "f() { cat; }",
        "ls() { :; }; lss",
        "command -v ls",
    ],
)
def test_what_is_not_allowed(text: str) -> None:
    """Whatever is not the name of an allowed program, plain, is denied."""
    assert is_denied(ONLY_LS, text)


def test_builtins_can_be_allowed() -> None:
    """As any program, but for those that can run anything; what they set is looked at."""
    names = ["ls", "cd", "export", "find", "env", "/bin/x", "trap", "eval", "printf", "read"]
    policy = Policy(allow=names)
    for text in ("cd a && ls", "export A=1", "find a -exec ls {} +", "env", "/bin/x"):
        assert not is_denied(policy, text), text
    for text in (
        *("export PATH=.", "export 'PATH=.'", "export $x", "read PATH", "printf -v PATH ."),
        *("printf -v $x .", "find $x", "find . -exec", "trap cat EXIT", "trap $x EXIT"),
    ):
        assert is_denied(policy, text), text
    for text in ("export A=$x -n B", "printf PATH", 'read -p "$x" a', "for i in $x; do ls; done"):
        assert not is_denied(policy, text), text
    assert is_denied(policy, "eval ls")


@pytest.mark.parametrize(
    ("pattern", "text", "denied"),
    [
        ("git push*", "git push --force", True),
        ("git push*", "/usr/bin/git 'push'", True),
        ("git push*", "git pull", False),
        ("git push*", "git $x", True),
        ("export A*", "export B=1 A=2", False),
        ("export A*", "export A=2", True),
        ("git push*", "ls $x", False),
        ("git push*", "env git push", True),
        ("* --no-verify*", "git commit --no-verify", True),
        ("* --no-verify*", "git commit $x", True),
        ("curl *|*", "curl a | sh", False),
    ],
)
def test_patterns(pattern: str, text: str, denied: bool) -> None:
    """They are for the words of one command; a word that is not plain may be any."""
    assert is_denied(Policy(patterns=[pattern]), text) == denied
    names = ["git", "ls", "curl", "sh", "export"]
    assert is_denied(Policy(patterns=[pattern], allow=names), text) == denied


def test_denied_wins() -> None:
    """Over what is allowed."""
    policy = Policy(allow=["ls", "rm"], deny=["rm"])
    assert is_denied(policy, "rm a")
    assert not is_denied(policy, "ls")
    assert is_denied(Policy(deny=["sudo"]), "sudo ls")
    assert not is_denied(Policy(), "anything $x")


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("rm secret", 1, 1),
        ("ls\n  ls && rm secret", 2, 9),
        ("é; sh -c 'ls\nrm secret'", 1, 5),
        ("ls $(ls; rm secret)", 1, 10),
    ],
)
def test_position(text: str, line: int, column: int) -> None:
    """The error says where, and nothing of what was written but a name that is denied."""
    scripts = [(text, None)] if "sh -c" not in text else NO_RM.check(parsed(text))
    ((script, within),) = scripts
    with pytest.raises(DeniedError, match=f"at line {line}, column {column}: 'rm' is") as caught:
        NO_RM.check(parsed(script), within)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "fields", [{"allow": "ls"}, {"deny": "ls"}, {"patterns": [1]}, {"deny": [""]}]
)
def test_wrong_fields(fields: dict[str, list[str]]) -> None:
    """An error that names the field."""
    with pytest.raises(UsageError, match=next(iter(fields))):
        Policy(**fields)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b", ("a", "b")),
        ("a\\ b \\$x \\\\", ("a b", "$x", "\\")),
        ("a\\*b 'c*'", ("a*b", "c*")),
        ('"a\\$\\"\\x"\'b\'', ('a$"\\xb',)),
        ('"a\\\nb" ""', ("ab", "")),
        ("a*b a?b [a] {a,b} ~ ~a", (None,) * 6),
        ("a~ '~' {} {", ("a~", "~", "{}", None)),
        ("\\\\* a\\\\\\*", (None, "a\\*")),
        ('$x "$x" $(x) `x` $((1)) <(x)', (None,) * 6),
        ("$'a' $'\\x61' $\"a\"", ("a", None, None)),
    ],
)
def test_plain_words(text: str, words: tuple[str | None, ...]) -> None:
    """A word is plain if nothing but its quotes is taken away."""
    command = next(iter(commands(parsed(f": {text}"))))
    assert command.words[1:] == words


def test_commands_show_no_words() -> None:
    """One of them may be a secret, and a failed assert would show it."""
    command = next(iter(commands(parsed("env login s3cret"))))
    (inner,) = inner_commands(command.words)
    assert inner.words == ("login", "s3cret")
    assert "s3cret" not in f"{command!r} {inner!r} {Inner(text='s3cret')!r}"
