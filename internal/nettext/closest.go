package nettext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Closest returns the name of a list that a misspelt word is most similar to, or "".
func Closest(word string, list []string) string {
	best, least := "", max(1, utf8.RuneCountInString(word)/3)+1
	for _, s := range list {
		if d := Distance(strings.ToLower(word), strings.ToLower(s), least); d < least {
			best, least = s, d
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	for _, s := range list { // part of a longer name
		if strings.Contains(s, strings.ToLower(word)) && (best == "" || len(s) < len(best)) {
			best = s
		}
	}
	return best
}

// maxWord is the number of characters beyond which words are not compared.
const maxWord = 100

// Distance returns how many characters have to be inserted, removed, replaced or swapped
// with their neighbour to make b of a. If it is enough or more, it returns enough.
func Distance(a, b string, enough int) int {
	if d := len(a) - len(b); len(a) > maxWord || len(b) > maxWord || d >= 4*enough || -d >= 4*enough {
		return enough
	}
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(y)], enough)
}

// Quote quotes a word for a message and shortens a long one.
func Quote(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
