package main

import (
	"fmt"
	"strings"
)

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func count(n int, what string) string { return fmt.Sprintf("%d %s", n, plural(n, what, what+"s")) }

// shellWord quotes a path for a command to be copied, if it needs it.
func shellWord(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+=:,@%\\", r)
	}) < 0 {
		return s
	}
	// A backslash would be doubled on the way to the terminal.
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}
