/* One generator a shell. Names and words of the rows are plain ASCII without quotes; help texts are
 * quoted by the rule of the shell that gets them. */
#include "cli/completion.h"

static void append_words(clef_buffer *out, const char *words) {
    for (; words[0] != '\0'; words += 1) {
        clef_buffer_append_byte(out, words[0] == '|' ? ' ' : words[0]);
    }
}

/* The text up to its first full stop, which is what fits a list of completions. */
static clef_text find_first_sentence(const char *help) {
    const char *end = strstr(help, ". ");
    size_t length = end != NULL ? (size_t)(end - help) : strlen(help);
    while (length > 0 && help[length - 1] == '.') {
        length -= 1;
    }
    return (clef_text){help, length};
}

/* Appends text, each byte of `special` with a backslash before it, or doubled apostrophes as the
 * shell wants them. */
static void append_escaped(clef_buffer *out, clef_text text, const char *special) {
    for (size_t i = 0; i < text.length; i += 1) {
        if (text.bytes[i] == '\'') {
            clef_buffer_append_string(out, "'\\''");
            continue;
        }
        if (strchr(special, text.bytes[i]) != NULL) {
            clef_buffer_append_byte(out, '\\');
        }
        clef_buffer_append_byte(out, text.bytes[i]);
    }
}

/* Calls visit for every option row of a command. */
static void visit_rows(clef_buffer *out, const clef_command *command,
                       void (*visit)(clef_buffer *out, const clef_command *command,
                                     const clef_option_row *row)) {
    for (size_t i = 0; command->groups[i] != NULL; i += 1) {
        for (size_t j = 0; j < command->groups[i]->count; j += 1) {
            visit(out, command, &command->groups[i]->rows[j]);
        }
    }
}

static void append_bash_name(clef_buffer *out, const clef_command *command,
                             const clef_option_row *row) {
    (void)command;
    clef_buffer_append_format(out, "--%s ", row->name);
    if (row->letter != 0) {
        clef_buffer_append_format(out, "-%c ", row->letter);
    }
}

/* A case of "command:option" for what follows the option; a value that nobody can guess offers
 * nothing, rather than file names that would be wrong. */
static void append_bash_value(clef_buffer *out, const clef_command *command,
                              const clef_option_row *row) {
    if (row->kind == CLEF_OPTION_FLAG) {
        return;
    }
    clef_buffer_append_format(out, "    %s:--%s", command->name, row->name);
    if (row->letter != 0) {
        clef_buffer_append_format(out, "|%s:-%c", command->name, row->letter);
    }
    clef_buffer_append_string(out, ") ");
    if (row->kind == CLEF_OPTION_CHOICE) {
        clef_buffer_append_string(out, "COMPREPLY=($(compgen -W \"");
        append_words(out, row->words);
        clef_buffer_append_string(out, "\" -- \"$current\")); return ;;\n");
    } else if (row->completion == CLEF_COMPLETE_DIRECTORY) {
        clef_buffer_append_string(out, "COMPREPLY=($(compgen -d -- \"$current\")); return ;;\n");
    } else if (row->completion == CLEF_COMPLETE_FILE) {
        clef_buffer_append_string(out, "COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n");
    } else if (row->completion == CLEF_COMPLETE_AT_FILE) {
        clef_buffer_append_string(
            out, "[[ $current == @* ]] && COMPREPLY=($(compgen -P @ -f -- \"${current#@}\")); "
                 "return ;;\n");
    } else {
        clef_buffer_append_string(out, "return ;;\n");
    }
}

static void append_bash(clef_buffer *out, const clef_command *const *commands) {
    clef_buffer_append_string(
        out, "# bash completion for clef, written by: clef help --completion bash\n"
             "_clef() {\n"
             "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
             "    local command=${COMP_WORDS[1]} options= files=0\n"
             "    COMPREPLY=()\n"
             "    if [[ $COMP_CWORD -eq 1 ]]; then\n"
             "        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; commands[i] != NULL; i += 1) {
        clef_buffer_append_format(out, "%s ", commands[i]->name);
    }
    clef_buffer_append_string(out, "--version --help --help-environment\" -- \"$current\"))\n"
                                   "        return\n"
                                   "    fi\n"
                                   "    case $command:$previous in\n");
    for (size_t i = 0; commands[i] != NULL; i += 1) {
        visit_rows(out, commands[i], append_bash_value);
    }
    clef_buffer_append_string(out, "    esac\n    case $command in\n");
    for (size_t i = 0; commands[i] != NULL; i += 1) {
        clef_buffer_append_format(out, "    %s) options=\"", commands[i]->name);
        visit_rows(out, commands[i], append_bash_name);
        clef_buffer_append_format(out, "\" files=%d ;;\n", commands[i]->takes_files);
    }
    clef_buffer_append_string(out,
                              "    esac\n"
                              "    if [[ $current == -* ]]; then\n"
                              "        COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
                              "    else\n"
                              "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
                              "    fi\n"
                              "}\n"
                              "complete -o filenames -F _clef clef\n");
}

/* One specification of _arguments: '--name[what it does]:value:what to offer'. */
static void append_zsh_row(clef_buffer *out, const clef_command *command,
                           const clef_option_row *row) {
    (void)command;
    clef_buffer_append_string(out, "            ");
    if (row->letter != 0) {
        /* Either spelling excludes the other and itself; braces stand outside of the quotes. */
        clef_buffer_append_format(out, "'(-%c --%s)'{-%c,--%s}'[", row->letter, row->name,
                                  row->letter, row->name);
    } else {
        clef_buffer_append_format(out, "'%s--%s[", row->kind == CLEF_OPTION_QUESTION ? "*" : "",
                                  row->name);
    }
    append_escaped(out, find_first_sentence(row->help), "[]:\\");
    clef_buffer_append_byte(out, ']');
    if (row->kind == CLEF_OPTION_CHOICE) {
        clef_buffer_append_string(out, ":value:(");
        append_words(out, row->words);
        clef_buffer_append_byte(out, ')');
    } else if (row->kind != CLEF_OPTION_FLAG) {
        clef_buffer_append_byte(out, ':');
        append_escaped(out, clef_text_of(row->value), "[]:\\");
        clef_buffer_append_string(out, row->completion == CLEF_COMPLETE_DIRECTORY ? ":_files -/"
                                       : row->completion == CLEF_COMPLETE_FILE    ? ":_files"
                                                                                  : ": ");
    }
    clef_buffer_append_string(out, "' \\\n");
}

static void append_zsh(clef_buffer *out, const clef_command *const *commands) {
    clef_buffer_append_string(out, "#compdef clef\n"
                                   "# zsh completion for clef, written by: clef help --completion "
                                   "zsh\n"
                                   "_clef() {\n"
                                   "    local -a commands=(\n");
    for (size_t i = 0; commands[i] != NULL; i += 1) {
        clef_buffer_append_format(out, "        '%s:", commands[i]->name);
        append_escaped(out, find_first_sentence(commands[i]->summary), ":\\");
        clef_buffer_append_string(out, "'\n");
    }
    clef_buffer_append_string(out, "    )\n"
                                   "    if (( CURRENT == 2 )); then\n"
                                   "        _describe command commands\n"
                                   "        return\n"
                                   "    fi\n"
                                   "    local command=$words[2]\n"
                                   "    shift words\n"
                                   "    (( CURRENT -= 1 ))\n"
                                   "    case $command in\n");
    for (size_t i = 0; commands[i] != NULL; i += 1) {
        clef_buffer_append_format(out, "    %s)\n        _arguments \\\n", commands[i]->name);
        visit_rows(out, commands[i], append_zsh_row);
        clef_buffer_append_format(out, "            '%s' ;;\n",
                                  commands[i]->takes_files ? "*:file:_files" : "*: : ");
    }
    clef_buffer_append_string(out, "    esac\n}\n_clef \"$@\"\n");
}

/* -x: the option takes a value, and files are no value of it; -r: they are. */
static void append_fish_row(clef_buffer *out, const clef_command *command,
                            const clef_option_row *row) {
    clef_buffer_append_format(out, "complete -c clef -n '__fish_seen_subcommand_from %s' -l %s",
                              command->name, row->name);
    if (row->letter != 0) {
        clef_buffer_append_format(out, " -s %c", row->letter);
    }
    if (row->kind == CLEF_OPTION_CHOICE) {
        clef_buffer_append_string(out, " -x -a '");
        append_words(out, row->words);
        clef_buffer_append_byte(out, '\'');
    } else if (row->kind != CLEF_OPTION_FLAG) {
        clef_buffer_append_string(out, row->completion == CLEF_COMPLETE_DIRECTORY
                                           ? " -x -a '(__fish_complete_directories)'"
                                       : row->completion == CLEF_COMPLETE_FILE ? " -r"
                                                                               : " -x");
    }
    clef_buffer_append_string(out, " -d '");
    append_escaped(out, find_first_sentence(row->help), "\\");
    clef_buffer_append_string(out, "'\n");
}

static void append_fish(clef_buffer *out, const clef_command *const *commands) {
    clef_buffer_append_string(
        out, "# fish completion for clef, written by: clef help --completion fish\n"
             "complete -c clef -n __fish_use_subcommand -f\n");
    for (size_t i = 0; commands[i] != NULL; i += 1) {
        clef_buffer_append_format(out, "complete -c clef -n __fish_use_subcommand -a %s -d '",
                                  commands[i]->name);
        append_escaped(out, find_first_sentence(commands[i]->summary), "\\");
        clef_buffer_append_string(out, "'\n");
    }
    for (size_t i = 0; commands[i] != NULL; i += 1) {
        visit_rows(out, commands[i], append_fish_row);
    }
}

void clef_completion_append(clef_buffer *out, const clef_command *const *commands,
                            clef_shell_choice shell) {
    switch (shell) {
    case CLEF_SHELL_NONE:
        break;
    case CLEF_SHELL_BASH:
        append_bash(out, commands);
        break;
    case CLEF_SHELL_ZSH:
        append_zsh(out, commands);
        break;
    case CLEF_SHELL_FISH:
        append_fish(out, commands);
        break;
    }
}
