import shlex

def split_command(command: str) -> dict[str, list[str]]:
    """Words, separate commands and the command quoted again.

    Args:
        command: As typed into a shell.

    Raises:
        ValueError: A quotation does not end.
    """
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    tokens = list(lexer)
    pipes = [token for token in tokens if token in {"|", "||", "&&", ";", ">", ">>"}]
    return {"words": tokens, "between": pipes, "quoted": [shlex.join(tokens)]}


DESCRIPTION = "Splits a shell command into its words and redirections."
EXAMPLES = [{'arguments': {'command': 'grep -n \'a b\' file.txt | sort > "out file"'},
  'expected': {'words': ['grep', '-n', 'a b', 'file.txt', '|', 'sort', '>', 'out file'],
               'between': ['|', '>'],
               'quoted': ["grep -n 'a b' file.txt '|' sort '>' 'out file'"]}},
 {'arguments': {'command': ''}, 'expected': {'words': [], 'between': [], 'quoted': ['']}},
 {'arguments': {'command': "echo 'open"}, 'raises': 'ValueError'},
 {'arguments': {'command': 'a && b;c'},
  'expected': {'words': ['a', '&&', 'b', ';', 'c'],
               'between': ['&&', ';'],
               'quoted': ["a '&&' b ';' c"]}}]
