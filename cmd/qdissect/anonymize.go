package main

import (
	"bytes"
	"cmp"
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
	"github.com/qdissect/qdissect/internal/nettext"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/whole"
)

// anonymizeOptions are the flags of anonymize.
type anonymizeOptions struct {
	key         string
	printKey    bool
	serverText  bool
	keepUnknown bool
	verify      bool
	unverified  bool
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
keys become xxx. Numbers of VLANs and tunnels are replaced by others. Lengths,
times, ports, maps, scores and names of settings stay.

Frames without a message of a known protocol, descriptions of interfaces, and
comments are left out. Counts are written to standard error.

Equal values get equal replacements, with the same --key also in other files.
Whoever has the key can undo the replacement. Without --key, each run uses a new
secret key.

OUT is read again before it gets its name. If a name, an identifier or an address
is still in it, no file is written, and frame and field are named. --verify does
that with two captures that exist.

Check the result before you share it; see docs/sharing-captures.md.

Exit status: 0 done; 1 nothing recognised or something left, no file written;
2 error.`,
		RunE: func(cmd *cobra.Command, args []string) error { return runAnonymize(args, &o, env) },
	}
	f := cmd.Flags()
	f.StringVar(&o.key, "key", "", "key of 32 or more hexadecimal digits, or a `FILE` with a key")
	f.BoolVar(&o.printKey, "print-key", false, "write the key to standard error")
	f.BoolVar(&o.serverText, "keep-server-text", false, "keep names, descriptions and settings of servers")
	f.BoolVar(&o.keepUnknown, "keep-unknown", false, "keep datagrams that no protocol recognises, and change only their headers")
	f.BoolVar(&o.verify, "verify", false, "write nothing: look for names, identifiers and addresses of IN in OUT")
	f.BoolVar(&o.unverified, "no-verify", false, "do not look for them before OUT gets its name")
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
	f, err := os.Open(arg)
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
	if o.verify {
		return runVerify(args, o, env)
	}
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
	if !o.unverified {
		a.Witness = anonymize.NewWitness(a)
	}
	src, err := o.window.open(inName, env)
	if err != nil {
		return err
	}
	defer src.Close()
	return o.write(src, outName, a, env)
}

// write writes the anonymized copy of src. It is renamed into place when it is complete.
func (o *anonymizeOptions) write(src capture.Source, outName string, a anonymize.Options, env environment) error {
	beside := nettext.Either(outName == "-", filepath.Join(os.TempDir(), "anonymized.pcapng"), outName) // on the same disk
	f, err := whole.Create(beside, outName == "-")
	if err != nil {
		return err
	}
	defer f.Discard()
	out, err := capture.Create(f.Name())
	if err != nil {
		return err
	}
	counts, runErr := anonymize.Run(src, out, a)
	if err := out.Close(); err != nil {
		return err
	}
	switch {
	case runErr != nil && !errors.As(runErr, new(*capture.Error)):
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
		runErr = cmp.Or(runErr, error(status(exitTrouble)))
	}
	if counts.Written == 0 {
		fmt.Fprintln(env.err, "nothing was recognised; no file was written")
		return ended(runErr != nil, true)
	}
	if a.Witness != nil {
		if err := searchLeaks(a.Witness, f.Name(), env); err != nil {
			return err
		}
	}
	if outName == "-" {
		err = copyFile(env.out, f.Name())
	} else {
		err = f.Place()
	}
	return cmp.Or(err, ended(runErr != nil, false))
}

// runVerify looks for what tells of people and servers of one capture in another.
func runVerify(args []string, o *anonymizeOptions, env environment) error {
	if len(args) != 2 {
		return errors.New("two arguments needed: the capture and its anonymized copy")
	}
	a := anonymize.Options{KeepServerText: o.serverText}
	var err error
	if a.Analysis, err = o.protocols.config(); err != nil {
		return err
	}
	src, err := o.window.open(args[0], env)
	if err != nil {
		return err
	}
	defer src.Close()
	w := anonymize.NewWitness(a)
	if err := w.Read(src); err != nil {
		return err
	}
	return searchLeaks(w, args[1], env)
}

// searchLeaks prints what is left in a capture and returns status 1 if there is anything.
func searchLeaks(w *anonymize.Witness, name string, env environment) error {
	out, err := capture.Open(name)
	if err != nil {
		return err
	}
	defer out.Close()
	leaks, err := w.Search(out)
	if err != nil && !errors.As(err, new(*capture.Error)) {
		return err
	}
	if w.Unchecked > 0 {
		fmt.Fprintf(env.err, "not looked for: %d %s beyond the limits of docs/limits.md\n", w.Unchecked, nettext.Plural(w.Unchecked, "value", "values"))
	}
	for _, l := range leaks {
		fmt.Fprintf(env.err, "frame %d, %s: still \"%s\"\n", l.Frame, l.Field, nettext.AppendSafe(nil, []byte(l.Value)))
	}
	if w.Leaks == 0 {
		return nil
	}
	if more := w.Leaks - len(leaks); more > 0 {
		fmt.Fprintf(env.err, "%d more\n", more)
	}
	return status(exitJudged)
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
		fmt.Fprintln(w, head, cmp.Or(strings.Join(parts, ", "), "nothing"))
	}
	fmt.Fprintf(w, "read:     %d %s; written: %d, with %d %s\n", c.Frames, nettext.Plural(int(c.Frames), "frame", "frames"), c.Written, c.Messages, nettext.Plural(int(c.Messages), "message", "messages"))
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
		fmt.Fprintf(w, "%d %s differently than before\n", c.Reshaped, nettext.Plural(c.Reshaped, "message dissects", "messages dissect"))
	}
}
