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

// shellWord quotes a path for a shell if necessary.
func shellWord(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+=:,@%\\", r)
	}) < 0 {
		return s
	}
	// The terminal output doubles backslashes, so do not use any.
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}
