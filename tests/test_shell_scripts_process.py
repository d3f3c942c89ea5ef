"""Command sessions: generated scripts give what ``bash -c`` gives."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from processes import needs
from test_shell_process import alone, shell

pytestmark = needs("bash")

GROUPS = 10
SCRIPTS = 100  # in each


class Writer:
    """Writes scripts, which are the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - it has to give the same each time
        self._variables: list[str] = []
        self._functions: list[str] = []

    def script(self) -> str:
        """A script of a few statements, now and then one that cannot be parsed."""
        self._variables, self._functions = [], []
        beginning = self._one_of(["", "", "", "set -e\n", "set -f\n", "set -o pipefail\n"])
        body = self._block(self._random.randint(1, 6), 3)
        if self._random.random() < 0.05:
            body += self._one_of(["\necho )", "\n}", "\ncat <<END\na"])
        elif not beginning and self._random.random() < 0.2:
            return f"trap 'echo bye $?' EXIT\n{body}\nexit"
        return beginning + body

    def _one_of(self, choices: list[str]) -> str:
        return self._random.choice(choices)

    def _block(self, length: int, depth: int) -> str:
        return self._one_of(["\n", "; "]).join(self._statement(depth) for _ in range(length))

    def _statement(self, depth: int) -> str:
        simple: list[Callable[[], str]] = [
            *(self._echo, self._echo, self._assignment, self._status, self._builtin, self._here),
        ]
        if depth:
            nested: list[Callable[[int], str]] = [
                *(self._if, self._for, self._while, self._case, self._group, self._pipe, self._and),
                self._function,
            ]
            if self._random.random() < 0.5:
                return self._random.choice(nested)(depth - 1)
        return self._random.choice(simple)()

    def _word(self) -> str:
        choices = [
            *(
                "a",
                "b1",
                "''",
                "'x y'",
                '"x  y"',
                "$((1 + 2 * 3))",
                "$(echo c d)",
                '"$(echo c  d)"',
            ),
            *(
                "`echo e`",
                "${#0}",
                "a\\ b",
                "$'t\\tn\\x41\\n'",
                "{1..3}",
                "~+",
                "\\$x",
                "'#'",
                "*nothing*",
            ),
            *("${none-}", "${none:-or this}", "${none:+that}", "<", "'é'", '"a\nb"'),
        ]
        for name in self._variables:
            choices += [
                f"${name}",
                f'"${name}"',
                f"${{{name}%a*}}",
                f"${{#{name}}}",
                f"${{{name}^^}}",
            ]
        word = self._one_of(choices)
        return "'<'" if word == "<" else word

    def _words(self) -> str:
        return " ".join(self._word() for _ in range(self._random.randint(0, 3)))

    def _echo(self) -> str:
        where = self._one_of(
            ["", "", "", "", " >&2", " >/dev/null", " | cat", " 2>&1", " | tr a-z A-Z"]
        )
        program = self._one_of(["echo", "echo -n", "printf '%s|'", "printf '[%5s]\\n'"])
        return f"{program} {self._words()}{where}"

    def _assignment(self) -> str:
        name = f"v{self._random.randint(0, 5)}"
        keyword = self._one_of(["", "", "export ", "declare "])
        value = self._one_of([self._word() for _ in range(3)])
        self._variables.append(name)
        return f'{keyword}{name}="$(echo {value})"'

    def _status(self) -> str:
        return self._one_of(
            [
                *("true", "false", "(exit 3)", "! true", "! false", "[ a = b ]", "[[ a == a* ]]"),
                *("exit 4", "((0))", "((1))", "nosuchprogram", "echo $?", "return 3", "break"),
                "test -d /",
            ]
        )

    def _builtin(self) -> str:
        return self._one_of(
            [
                *("cd /; pwd", "read -r r <<< 'x y'; echo $r", "set -- 1 2 3; echo $# $2; shift"),
                *("true & wait", "(echo s; exit 5) & wait $!", "eval 'echo ev'", "unset none"),
                *("a=(1 2 3); echo ${a[@]:1} ${#a[@]}", "declare -A m=([k]=w); echo ${m[k]}"),
                *("exec 3>&1 4>/dev/null", "mapfile -t l < <(echo 1; echo 2); echo ${l[1]}"),
                *("umask 022; umask", "type -t echo", "cat", "cat < /dev/null", "exec >&2"),
                *(
                    "printf '\\0\\xff\\r'",
                    "printf -v p %03d 7; echo $p",
                    "let n=3*4; echo $n",
                    ": $(true)",
                ),
            ]
        )

    def _here(self) -> str:
        quote = self._one_of(["", "'"])
        return f"cat <<{quote}END{quote}\n$((2 + 2)) {self._word()}\n\nEND\n:"

    def _if(self, depth: int) -> str:
        condition = self._statement(0)
        then, otherwise = self._block(1, depth), self._block(1, depth)
        return f"if {condition}; then {then}\nelse {otherwise}\nfi"

    def _for(self, depth: int) -> str:
        self._variables.append("i")
        return f"for i in 1 2 {self._words()}; do {self._block(2, depth)}\ndone"

    def _while(self, depth: int) -> str:
        body = self._block(1, depth)
        name = f"w{self._random.randint(0, 1000)}"
        return f"{name}=0; while (({name}++ < 3)); do {body}\ndone"

    def _case(self, depth: int) -> str:
        one, other = self._block(1, depth), self._block(1, depth)
        return f"case {self._word()} in a*) {one}\n;; *) {other}\n;; esac"

    def _group(self, depth: int) -> str:
        before, after = self._random.choice([("{ ", "\n}"), ("( ", "\n)"), ('echo "$(', '\n)"')])
        return before + self._block(2, depth) + after

    def _pipe(self, depth: int) -> str:
        return f"{{ {self._block(1, depth)}\n}} | sed s/a/b/"

    def _and(self, depth: int) -> str:
        return self._one_of([" && ", " || "]).join(
            f"{{ {self._statement(depth)}\n}}" for _ in range(2)
        )

    def _function(self, depth: int) -> str:
        name = f"f{self._random.randint(0, 5)}"
        return f"{name}() {{ local x=1; {self._block(2, depth)}\n}}\n{name} {self._words()}"


@pytest.mark.parametrize("group", range(GROUPS))
async def test_scripts(group: int) -> None:
    """The same standard output and the same code, each in a new shell."""
    writer = Writer(group)
    codes: set[int] = set()
    async with shell(max_output=None, cwd="/") as opened:
        for _ in range(SCRIPTS):
            script = writer.script()
            result = await opened.run(script)
            assert (result.stdout, result.exit_code) == alone(script, "/"), script
            codes.add(result.exit_code)
            await opened.run("unset -v v{0..5} i; unset -f f{0..5}")  # or the next shell has them
            await opened.run("kill -9 $$")
    assert len(codes) > 3
