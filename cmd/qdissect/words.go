package main

import (
	"strings"
)

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
