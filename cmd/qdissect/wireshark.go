package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/qdissect/qdissect/dissect/all"
	"github.com/qdissect/qdissect/internal/capture"
	"github.com/qdissect/qdissect/internal/pipeline"
	"github.com/qdissect/qdissect/internal/whole"
	"github.com/qdissect/qdissect/internal/wireshark"
)

// extcapOptions are the flags with which Wireshark calls an external capture program.
type extcapOptions struct {
	interfaces, dlts, config, capture, install bool
	name, fifo, filter, version                string
	// The settings that --extcap-config offers:
	iface, annotate, netns string
	protocols              []string
}

const (
	extcapName = "qdissect"
	extcapHelp = "https://github.com/qdissect/qdissect/blob/main/docs/wireshark.md"
	// extcapHold is how long frames wait for what belongs to them: somebody is watching.
	extcapHold = time.Second
)

func newExtcap(env environment) *cobra.Command {
	var o extcapOptions
	cmd := &cobra.Command{
		Use:   "extcap",
		Short: "Capture live for Wireshark, which calls this itself",
		Long: `Capture for Wireshark and tshark, with the fields of messages in packet comments.
Once installed, Wireshark has an interface "Game-server queries", whose settings
choose a network interface, comments and protocols:

  qdissect lua --install       (shows the fields)
  sudo qdissect extcap --install
  tshark -i qdissect -o extcap.qdissect.iface:eth0

The other flags are those that Wireshark passes. See docs/wireshark.md.`,
		Args:               cobra.NoArgs,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // of newer versions
		RunE:               func(*cobra.Command, []string) error { return o.run(env) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.install, "install", false, "write a script that starts this program into the folder of Wireshark for capture programs")
	f.BoolVar(&o.interfaces, "extcap-interfaces", false, "list what can be captured from")
	f.StringVar(&o.version, "extcap-version", "", "the `version` of Wireshark")
	f.StringVar(&o.name, "extcap-interface", "", "the `interface` that the other flags are about: "+extcapName)
	f.BoolVar(&o.dlts, "extcap-dlts", false, "list its link types")
	f.BoolVar(&o.config, "extcap-config", false, "list its settings")
	f.BoolVar(&o.capture, "capture", false, "capture")
	f.StringVar(&o.fifo, "fifo", "", "write to this `pipe`")
	f.StringVar(&o.filter, "extcap-capture-filter", "", "a capture `FILTER`; without --capture, say what is wrong with it")
	f.StringVar(&o.iface, "iface", "", "capture from this network `interface` (default any, or the first)")
	f.StringVar(&o.annotate, "annotate", "tree", "tree or line, as for -w")
	f.StringVar(&o.netns, "netns", "", "capture in the network namespace `NAME|PID`, as with -i (Linux, as root)")
	f.StringSliceVar(&o.protocols, "protocols", nil, "recognise only these protocols")
	return cmd
}

func (o *extcapOptions) run(env environment) error {
	switch {
	case o.install:
		return installExtcap(env)
	case o.interfaces:
		_, err := fmt.Fprintf(env.out, "extcap {version=%s}{help=%s}{display=qdissect}\ninterface {value=%s}{display=Game-server queries}\n",
			sentence(versionText()), extcapHelp, extcapName)
		return err
	case o.name == "":
		return errors.New("extcap is what Wireshark calls, once --install has been run; see qdissect extcap --help")
	case o.name != extcapName:
		return fmt.Errorf("--extcap-interface %q: there is only %s; --install makes Wireshark call this program", o.name, extcapName)
	case o.dlts: // the file names the link type of each interface
		_, err := fmt.Fprintln(env.out, "dlt {number=1}{name=EN10MB}{display=Ethernet}")
		return err
	case o.config:
		return o.settings(env.out)
	case o.capture:
		return o.record(env)
	}
	if _, err := (&filterOptions{text: o.filter}).compile(nil); err != nil { // Wireshark shows what is printed
		_, err = fmt.Fprintln(env.out, err)
		return err
	}
	return nil
}

// sentence makes a text fit between braces.
func sentence(s string) string { return strings.NewReplacer("{", "(", "}", ")", "\n", " ").Replace(s) }

// settings lists what a user can choose.
func (o *extcapOptions) settings(w io.Writer) error {
	list, err := captureFrom(o.netns)
	if err != nil {
		return err
	}
	var b strings.Builder
	value := func(arg int, value, display string, chosen bool) {
		fmt.Fprintf(&b, "value {arg=%d}{value=%s}{display=%s}{default=%t}\n", arg, value, sentence(display), chosen)
	}
	b.WriteString("arg {number=0}{call=--iface}{display=Network interface}{type=selector}{tooltip=Where to capture}\n")
	for i, in := range list {
		text := in.Name
		if in.Title != "" {
			text += ": " + in.Title
		}
		if len(in.Addresses) > 0 {
			text += " (" + strings.Join(in.Addresses, ", ") + ")"
		}
		value(0, in.Name, text, i == 0)
	}
	b.WriteString("arg {number=1}{call=--annotate}{display=Comments}{type=selector}{tooltip=What is added to packets}\n")
	value(1, "tree", "All fields, for the script of qdissect lua", true)
	value(1, "line", "A line for each message", false)
	b.WriteString("arg {number=2}{call=--protocols}{display=Protocols}{type=multicheck}{tooltip=Which messages to recognise; none means all}\n")
	for _, p := range all.Protocols() {
		fmt.Fprintf(&b, "value {arg=2}{value=%s}{display=%s}{default=false}{enabled=true}\n", p.Name, sentence(p.Title))
	}
	if runtime.GOOS == "linux" {
		b.WriteString("arg {number=3}{call=--netns}{display=Network namespace}{type=string}{tooltip=A name of ip netns, or a process of a container. Needs root}\n")
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// captureFrom returns the interfaces that can be captured from, the default first.
func captureFrom(netns string) ([]capture.Interface, error) {
	list, err := capture.Interfaces(netns)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(i capture.Interface) bool {
		return !i.Up || strings.ContainsAny(i.Name, "{}\n") && runtime.GOOS != "windows"
	})
	slices.SortStableFunc(list, func(a, b capture.Interface) int {
		rank := func(i *capture.Interface) int {
			switch {
			case i.Name == capture.AnyInterface:
				return 0
			case i.Name == "lo" || i.Name == "lo0":
				return 2
			}
			return 1
		}
		return rank(&a) - rank(&b)
	})
	return list, nil
}

// record captures into the pipe until Wireshark ends the program or closes the pipe.
func (o *extcapOptions) record(env environment) error {
	if o.fifo == "" {
		return errors.New("--capture needs --fifo")
	}
	iface := o.iface
	if iface == "" {
		list, err := captureFrom(o.netns)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errors.New("no network interface is up")
		}
		iface = list[0].Name
	}
	var r readOptions
	flags := pflag.NewFlagSet("extcap", pflag.ContinueOnError)
	r.add(flags)
	args := []string{"-q", "-w-", "--interface=" + iface, "--annotate=" + o.annotate, "--filter=" + o.filter}
	if o.netns != "" {
		args = append(args, "--netns="+o.netns)
	}
	if names := strings.Join(o.protocols, ","); names != "" {
		args = append(args, "--protocols="+names)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	out, err := os.OpenFile(o.fifo, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	env.out = out
	p, err := r.plan(flags, nil, env)
	if err != nil {
		return err
	}
	live, err := p.begin()
	if err != nil {
		return err
	}
	defer live.Close()
	run := &p.run
	run.Counts.Stats, run.Save.Hold = nil, extcapHold
	if run.Save.Saver, err = r.save.saver(env, p.limits, live, 0, capture.Making{}); err != nil {
		return err
	}
	if err := r.live.confine(); err != nil {
		return err
	}
	if err := run.Save.Saver.Flush(); err != nil { // Wireshark waits for the header
		return ignoreClosedPipe(err)
	}
	stop, done := interrupted(context.Background())
	defer done()
	stop, gone := context.WithCancel(stop)
	defer gone()
	go func() {
		untilClosed(stop, out)
		gone()
	}()
	run.Stop = stop.Done()
	var trouble error
	run.Trouble = func(err error) { trouble = errors.Join(trouble, ignoreClosedPipe(err)) }
	_, err = pipeline.Run(*run)
	return errors.Join(trouble, ignoreClosedPipe(err), ignoreClosedPipe(run.Save.Saver.(*saver).Close()))
}

func ignoreClosedPipe(err error) error {
	if isClosedPipe(err) {
		return nil
	}
	return err
}

// installExtcap writes a script that calls this program, because Wireshark passes no
// name of a command.
func installExtcap(env environment) error {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.Abs(self)
	}
	if err != nil {
		return err
	}
	name, text := "qdissect", "#!/bin/sh\nexec "+shellWord(self)+" extcap \"$@\"\n"
	if runtime.GOOS == "windows" {
		name, text = "qdissect.bat", "@echo off\r\n"+strconv.Quote(self)+" extcap %*\r\n"
	}
	return installFile(env, name, []byte(text), 0o755, "Personal Extcap path", "Extcap path", "Global Extcap path")
}

func newLua(env environment) *cobra.Command {
	install := false
	cmd := &cobra.Command{
		Use:   "lua",
		Short: "Print a script that shows messages in Wireshark",
		Long: `Print a script for Wireshark and tshark. It shows the fields of messages with
their bytes, and makes them display filters such as qd.a2s.info.num_players > 10.
It decodes nothing: it reads the comments that qdissect writes into captures.

  qdissect lua --install
  qdissect -q -w shown.pcapng --annotate=tree server.pcap
  wireshark shown.pcapng

Without --install, print it: qdissect lua > qdissect.lua, and then
tshark -X lua_script:qdissect.lua -r shown.pcapng. See docs/wireshark.md.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			script := wireshark.Script(all.Protocols(), versionText())
			if !install {
				_, err := io.WriteString(env.out, script)
				return err
			}
			return installFile(env, "qdissect.lua", []byte(script), 0o644, "Personal Lua Plugins", "Personal Plugins")
		},
	}
	cmd.Flags().BoolVar(&install, "install", false, "write it into the folder of Wireshark for the plugins of this user")
	return cmd
}

// installFile writes a file into the first folder of Wireshark that exists under one of
// these names.
func installFile(env environment, name string, data []byte, mode os.FileMode, names ...string) error {
	out, err := exec.Command("tshark", "-G", "folders").Output()
	if err != nil {
		return fmt.Errorf("tshark -G folders, which says where Wireshark looks for files, does not work: %w", err)
	}
	folder := ""
	for _, want := range names {
		for line := range strings.Lines(string(out)) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && strings.EqualFold(key, want) && folder == "" {
				folder = strings.TrimSpace(value)
			}
		}
	}
	if folder == "" {
		return errors.New("tshark -G folders names no folder for this; does this tshark support it?")
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	path := filepath.Join(folder, name)
	if err := whole.Write(path, data, false); err != nil {
		return err
	}
	if err := os.Chmod(path, mode); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.out, path)
	return err
}
