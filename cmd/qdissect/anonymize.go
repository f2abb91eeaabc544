package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/qdissect/qdissect/internal/anonymize"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/pipeline"
)

// anonymizeOptions are the flags of anonymize.
type anonymizeOptions struct {
	key         string
	printKey    bool
	serverText  bool
	keepUnknown bool
	window      windowOptions
	protocols   protocolOptions
}

func newAnonymize(env environment) *cobra.Command {
	var o anonymizeOptions
	cmd := &cobra.Command{
		Use:   "anonymize [flags] IN OUT",
		Short: "Anonymize a capture for sharing",
		Long: `Replace everything in a capture that identifies people and servers. OUT dissects
to the same messages as IN. IP and hardware addresses, names of players, SteamIDs
and other identifiers, and challenges are replaced. So is all text that is not
known to be harmless, such as names of servers, settings and chat. Passwords and
keys become xxx. Lengths, times, ports, maps, scores and names of settings stay.

Frames that are not UDP, datagrams that no protocol recognises, descriptions of
interfaces, and comments are left out. Counts are written to standard error.

Equal values get equal replacements, with the same --key also in other files.
Whoever has the key can undo the replacement. Without --key, each run uses a new
secret key.

Check the result before you share it; see docs/sharing-captures.md.

Exit status: 0 done; 1 nothing recognised, no file written; 2 error.`,
		RunE: func(cmd *cobra.Command, args []string) error { return runAnonymize(args, &o, env) },
	}
	f := cmd.Flags()
	f.StringVar(&o.key, "key", "", "key of 32 or more hexadecimal digits, or a `FILE` with a key")
	f.BoolVar(&o.printKey, "print-key", false, "write the key to standard error")
	f.BoolVar(&o.serverText, "keep-server-text", false, "keep names, descriptions and settings of servers")
	f.BoolVar(&o.keepUnknown, "keep-unknown", false, "keep datagrams that no protocol recognises, and change only their headers")
	o.window.add(f)
	o.protocols.addDecodeAs(f)
	return cmd
}

// A key has minKey to maxKey bytes.
const (
	minKey = 16
	maxKey = 64 << 10
)

// readKey returns the key given or named by arg, or a new key if arg is empty.
func readKey(arg string) ([]byte, error) {
	if arg == "" {
		b := make([]byte, 32)
		_, err := rand.Read(b)
		return b, err
	}
	if b, err := hex.DecodeString(arg); err == nil {
		if len(b) < minKey {
			return nil, fmt.Errorf("--key: has %d hexadecimal digits, needs at least %d", len(arg), 2*minKey)
		}
		return b, nil
	}
	f, err := openPatiently(arg)
	if err != nil {
		return nil, fmt.Errorf("--key: not hexadecimal digits, and not a readable file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--key: %w", err)
	case len(b) > maxKey:
		return nil, fmt.Errorf("--key: %s is larger than %d bytes", arg, maxKey)
	}
	b = bytes.TrimRight(b, "\r\n")
	if key, err := hex.DecodeString(string(b)); err == nil && len(key) >= minKey {
		return key, nil // the same key as on the command line
	}
	if len(b) < minKey {
		return nil, fmt.Errorf("--key: %s has %d bytes, needs at least %d", arg, len(b), minKey)
	}
	return b, nil
}

func runAnonymize(args []string, o *anonymizeOptions, env environment) error {
	inName, outName, err := inAndOut(args, env)
	if err != nil {
		return err
	}
	a := anonymize.Options{KeepServerText: o.serverText, KeepUnknown: o.keepUnknown}
	if a.Key, err = readKey(o.key); err != nil {
		return err
	}
	if a.Analysis, err = o.protocols.config(); err != nil {
		return err
	}
	in, err := openCapture(inName, env)
	if err != nil {
		return err
	}
	defer in.Close()
	src, err := o.window.within(in)
	if err != nil {
		return err
	}

	// The output is renamed into place when it is complete. It is written to the same
	// disk.
	beside := outName
	if outName == "-" {
		beside = filepath.Join(os.TempDir(), "anonymized.pcapng")
	}
	f, err := capture.CreateBeside(beside, outName == "-")
	if err != nil {
		return err
	}
	f.Close()
	defer os.Remove(f.Name())
	out, err := capture.Create(f.Name())
	if err != nil {
		return err
	}
	counts, runErr := anonymize.Run(src, out, a)
	if err := out.Close(); err != nil {
		return err
	}
	var damage *capture.Error
	switch {
	case runErr != nil && !errors.As(runErr, &damage):
		return runErr
	case runErr != nil:
		complain(env, runErr)
	}
	writeCounts(env.err, &counts)
	if o.printKey {
		fmt.Fprintf(env.err, "key: %x\n", a.Key)
	}
	if counts.Panics > 0 {
		complain(env, pipeline.PanicError(counts.Panics))
		if runErr == nil {
			runErr = status(exitTrouble)
		}
	}
	if counts.Written == 0 {
		fmt.Fprintln(env.err, "nothing was recognised; no file was written")
		if runErr != nil {
			return status(exitTrouble)
		}
		return status(exitJudged)
	}
	if outName == "-" {
		err = copyFile(env.out, f.Name())
	} else {
		err = os.Rename(f.Name(), outName)
	}
	if err == nil && runErr != nil {
		err = status(exitTrouble)
	}
	return err
}

// writeCounts prints what was replaced and left out.
func writeCounts(w io.Writer, c *anonymize.Counts) {
	// Each thing has a count, a singular and a plural.
	line := func(head string, things ...[3]any) {
		var parts []string
		for _, t := range things {
			switch n := fmt.Sprint(t[0]); n {
			case "0":
			case "1":
				parts = append(parts, fmt.Sprint("1 ", t[1]))
			default:
				parts = append(parts, fmt.Sprint(n, " ", t[2]))
			}
		}
		if len(parts) == 0 {
			parts = []string{"nothing"}
		}
		fmt.Fprintln(w, head, strings.Join(parts, ", "))
	}
	fmt.Fprintf(w, "read:     %d %s; written: %d, with %d %s\n", c.Frames, plural(int(c.Frames), "frame", "frames"), c.Written, c.Messages, plural(int(c.Messages), "message", "messages"))
	line("replaced:", [3]any{c.Addresses(), "address", "addresses"}, [3]any{c.MACs, "hardware address", "hardware addresses"},
		[3]any{c.Names, "name of a player", "names of players"}, [3]any{c.IDs, "identifier", "identifiers"}, [3]any{c.Secrets, "secret", "secrets"},
		[3]any{c.Tokens, "challenge", "challenges"}, [3]any{c.Texts, "text", "texts"},
		[3]any{c.Bytes, "byte of unknown meaning", "bytes of unknown meaning"}, [3]any{c.Repacked, "compressed message", "compressed messages"})
	line("left out:", [3]any{c.NoDatagram, "frame without a datagram", "frames without a datagram"}, [3]any{c.ICMP, "ICMP error", "ICMP errors"},
		[3]any{c.Unknown, "frame of a datagram that no protocol recognises", "frames of datagrams that no protocol recognises"},
		[3]any{c.Incomplete, "frame of an incomplete datagram", "frames of incomplete datagrams"},
		[3]any{c.Wrapped, "frame with an unsupported encapsulation", "frames with an unsupported encapsulation"},
		[3]any{c.Failed, "frame of a message that cannot be encoded again", "frames of messages that cannot be encoded again"})
	if c.Reshaped > 0 {
		fmt.Fprintf(w, "%d %s differently than before\n", c.Reshaped, plural(c.Reshaped, "message dissects", "messages dissect"))
	}
}
