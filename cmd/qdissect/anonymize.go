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
	protocols   protocolOptions
}

func newAnonymize(env environment) *cobra.Command {
	var o anonymizeOptions
	cmd := &cobra.Command{
		Use:   "anonymize [flags] IN OUT",
		Short: "Make a capture that can be shared",
		Long: `Replace who is in a capture, and keep what it shows. OUT dissects to the same
messages as IN, with other addresses, hardware addresses, names of players,
SteamIDs and other identifiers, challenges, and with other text wherever it is
not known to be harmless: names of servers, settings, what people say. Passwords
and keys become xxx. Lengths, times, ports, maps, scores and the names of settings
stay.

What is not understood is left out: frames that are not UDP, datagrams that no
protocol recognises, and what a file says of its interfaces and in comments. What
was done is counted on standard error.

Equal values are replaced by equal ones; with the same --key also in other files.
Whoever has the key can find out what stands for what. Without --key there is a
new one each time, which nobody sees.

Look at the result before you share it: docs/sharing-captures.md says what stays.

Exit status: 0 done; 1 nothing was recognised and nothing written; 2 trouble.`,
		RunE: func(cmd *cobra.Command, args []string) error { return runAnonymize(args, &o, env) },
	}
	f := cmd.Flags()
	f.StringVar(&o.key, "key", "", "`FILE` with a key, or a key of 32 or more hexadecimal digits")
	f.BoolVar(&o.printKey, "print-key", false, "write the key to standard error")
	f.BoolVar(&o.serverText, "keep-server-text", false, "keep names, descriptions and settings of servers")
	f.BoolVar(&o.keepUnknown, "keep-unknown", false, "keep datagrams that nothing recognises, as they are but for their headers")
	o.protocols.addDecodeAs(f)
	return cmd
}

// minKey and maxKey are how many bytes a key has.
const (
	minKey = 16
	maxKey = 64 << 10
)

// readKey returns the key that an argument is or names, a new one if it is empty.
func readKey(arg string) ([]byte, error) {
	if arg == "" {
		b := make([]byte, 32)
		_, err := rand.Read(b)
		return b, err
	}
	if b, err := hex.DecodeString(arg); err == nil {
		if len(b) < minKey {
			return nil, fmt.Errorf("--key: %d hexadecimal digits, at least %d are wanted", len(arg), 2*minKey)
		}
		return b, nil
	}
	f, err := openPatiently(arg)
	if err != nil {
		return nil, fmt.Errorf("--key: neither hexadecimal digits nor a file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--key: %w", err)
	case len(b) > maxKey:
		return nil, fmt.Errorf("--key: %s has more than %d bytes, which is no key", arg, maxKey)
	}
	b = bytes.TrimRight(b, "\r\n")
	if key, err := hex.DecodeString(string(b)); err == nil && len(key) >= minKey {
		return key, nil // the same as on the command line
	}
	if len(b) < minKey {
		return nil, fmt.Errorf("--key: %s has %d bytes, at least %d are wanted", arg, len(b), minKey)
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

	// The file gets its name when it is whole: it is made on the same disk.
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
	counts, runErr := anonymize.Run(in, out, a)
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

// writeCounts says what was done.
func writeCounts(w io.Writer, c *anonymize.Counts) {
	// A line counts things, each with its words for one and for more.
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
		[3]any{c.Bytes, "byte that is not understood", "bytes that are not understood"}, [3]any{c.Repacked, "compressed message", "compressed messages"})
	line("left out:", [3]any{c.NoDatagram, "frame without a datagram", "frames without a datagram"}, [3]any{c.ICMP, "ICMP error", "ICMP errors"},
		[3]any{c.Unknown, "frame of a datagram that nothing recognised", "frames of datagrams that nothing recognised"},
		[3]any{c.Incomplete, "frame of a datagram that is not complete", "frames of datagrams that are not complete"},
		[3]any{c.Wrapped, "frame in a wrapping that is not understood", "frames in wrappings that are not understood"},
		[3]any{c.Failed, "frame of a message that cannot be put together again", "frames of messages that cannot be put together again"})
	if c.Reshaped > 0 {
		fmt.Fprintf(w, "%d %s to something else than before\n", c.Reshaped, plural(c.Reshaped, "message dissects", "messages dissect"))
	}
}
