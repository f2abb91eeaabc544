package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/qdissect/qdissect/internal/hexinput"
	"github.com/qdissect/qdissect/internal/lazyregexp"
)

// maxPaste limits the pasted text, in bytes.
const maxPaste = 16 << 20

// pasted returns the datagrams in the arguments.
func pasted(args []string, env environment) (list []hexinput.Datagram, err error) {
	if len(args) == 0 {
		if isTerminal(env.in) {
			return nil, errors.New("nothing to decode; give hex, a file, or - to paste into standard input")
		}
		args = []string{"-"}
	}
	if len(args) > 1 && !slices.ContainsFunc(args, func(s string) bool { return !pieceOfDump().MatchString(s) }) {
		args = []string{strings.Join(args, " ")}
	}
	for i, arg := range args {
		text, err := textOf(arg, env)
		if err != nil {
			return nil, err
		}
		found, err := hexinput.Parse(text)
		if err != nil && fileLike().MatchString(arg) && string(text) == arg {
			return nil, fmt.Errorf("%s: no such file", arg)
		}
		if err != nil && len(args) > 1 {
			err = fmt.Errorf("argument %d: %w", i+1, err)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// pieceOfDump matches an argument that is part of an unquoted dump: an offset, or one
// or two bytes.
var pieceOfDump = lazyregexp.New(`^(?i:(?:0x)?[0-9a-f]{1,8}:|(?:0x|\\x)?(?:[0-9a-f]{2}){1,2},?)$`)

// fileLike matches an argument that looks like a file name rather than hex: a path, or
// a name with an extension.
var fileLike = lazyregexp.New(`^(?:\.{0,2}/\S*|[\w./-]+/[\w.-]+|[\w-]+\.[A-Za-z]\w{0,7})$`)

// textOf returns the text of standard input, of a file, or of the argument itself.
func textOf(arg string, env environment) ([]byte, error) {
	in, where := env.in, ""
	if arg != "-" {
		if info, err := os.Stat(arg); err != nil || info.IsDir() {
			return []byte(arg), nil
		}
		f, err := os.Open(arg)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, where = f, arg+": "
	}
	text, err := io.ReadAll(io.LimitReader(in, maxPaste+1))
	if err == nil && len(text) > maxPaste {
		err = fmt.Errorf("%smore than %d bytes of text", where, maxPaste)
	}
	return text, err
}
