//go:build linux

// Command benchlive sends small UDP packets over the loopback interface, as many
// a second as told, while a qdissect captures there, and says what arrived, what
// was lost and what it cost, with one worker and then with two. One packet in ten
// is game traffic, a request or its reply; each of 128 conversations has an address
// pair of its own. It needs Linux and the rights to capture. make bench-live runs
// it; docs/live.md has its figures.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
)

func main() {
	program := flag.String("program", "", "the qdissect to be tried")
	duration := flag.Duration("for", 10*time.Second, "how long to send")
	rate := flag.Int("rate", 0, "packets per second, 0 for as many as can be sent")
	flag.Parse()
	if *program == "" {
		fmt.Fprintln(os.Stderr, "benchlive: no program")
		os.Exit(1)
	}
	fmt.Printf("%d cores, %s, %s/%s\n", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for workers := 1; workers <= 2; workers++ {
		fmt.Println()
		if err := run(*program, *duration, *rate, workers, flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, "benchlive:", err)
			os.Exit(1)
		}
	}
}

func run(program string, duration time.Duration, rate, workers int, args []string) error {
	n := strconv.Itoa(workers)
	cmd := exec.Command(program, append([]string{"-i", "lo", "-j", n, "-o", "jsonl"}, args...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+n)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Process.Kill()
	first := make([]byte, 1)
	if _, err := io.ReadFull(out, first); err != nil {
		return fmt.Errorf("it does not begin: %s", said.String())
	}
	drained := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, out)
		drained <- n
	}()
	var resident []int
	sample := func() { resident = append(resident, residentKiB(cmd.Process.Pid)) }
	sample()
	sent, took, err := send(duration, rate, sample)
	if err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond)
	sample()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	bytesOut := <-drained
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, said.String())
	}
	m := regexp.MustCompile(`kernel +(\d+) packets received, (\d+) lost`).FindStringSubmatch(said.String())
	if m == nil {
		return fmt.Errorf("no counts in %q", said.String())
	}
	received, _ := strconv.Atoi(m[1])
	use := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Printf("workers   %d\n", workers)
	fmt.Printf("sent      %d packets in %.1f s, %.0f/s\n", sent, took.Seconds(), float64(sent)/took.Seconds())
	fmt.Printf("received  %d, lost %s\n", received, m[2])
	fmt.Printf("cpu       %.2f s, %.0f ns per packet\n", cpu.Seconds(), float64(cpu)/float64(max(1, received)))
	fmt.Printf("output    %.1f MB\n", float64(bytesOut)/1e6)
	fmt.Printf("resident  %s MiB each second, peak %d MiB\n", mib(resident), use.Maxrss>>10)
	return nil
}

func mib(list []int) string {
	var words []string
	for _, kib := range list {
		words = append(words, strconv.Itoa(kib>>10))
	}
	return strings.Join(words, " ")
}

// residentKiB returns the resident memory of a process.
func residentKiB(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+)`).FindSubmatch(b)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}

// send sends from several sockets at once to sockets that nobody reads, and calls each
// about once a second. One thread is too slow, because the kernel processes packets on lo
// in the context of the sender.
func send(duration time.Duration, rate int, each func()) (sent int, took time.Duration, err error) {
	senders := max(2, runtime.NumCPU())
	began := time.Now()
	type outcome struct {
		sent int
		err  error
	}
	outcomes := make(chan outcome)
	for i := range senders {
		go func() {
			n, err := sendFrom(i, began, duration, float64(rate)/float64(senders))
			outcomes <- outcome{n, err}
		}()
	}
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for done := 0; done < senders; {
		select {
		case <-ticks.C:
			each()
		case o := <-outcomes:
			done++
			sent += o.sent
			err = errors.Join(err, o.err)
		}
	}
	return sent, time.Since(began), err
}

// A conversation has two sockets that send to each other and never read.
type conversation [2]*ipv4.PacketConn

// converse makes the k-th conversation of a sender, with addresses of its own.
func converse(sender, k int) (c conversation, err error) {
	var at [2]*net.UDPAddr
	for i, port := range [...]int{27005, 27015} {
		at[i] = &net.UDPAddr{IP: net.IPv4(127, byte(1+i), byte(sender), byte(1+k)), Port: port}
	}
	for i := range c {
		end, err := net.DialUDP("udp4", at[i], at[1-i])
		if err != nil {
			return c, err
		}
		if err := end.SetReadBuffer(1); err != nil { // the least there is
			return c, err
		}
		c[i] = ipv4.NewPacketConn(end)
	}
	return c, nil
}

// sendFrom plays 64 conversations in turn: a request and others, its reply and others.
func sendFrom(sender int, began time.Time, duration time.Duration, rate float64) (sent int, err error) {
	var all [64]conversation
	for k := range all {
		if all[k], err = converse(sender, k); err != nil {
			return 0, err
		}
		defer all[k][0].Close()
		defer all[k][1].Close()
	}
	game := [2][]byte{
		[]byte("\xff\xff\xff\xffTSource Engine Query\x00"),
		[]byte("\xff\xff\xff\xffI\x11A server\x00de_dust2\x00cstrike\x00Counter-Strike\x00\xf0\x00\x0b\x20\x00dl\x00\x011.0.0.0\x00\x00"),
	}
	other := bytes.Repeat([]byte{0x45, 0x17, 0x99}, 30)
	var batch [2][]ipv4.Message
	for i := range batch {
		batch[i] = make([]ipv4.Message, 10)
		for k := range batch[i] {
			batch[i][k].Buffers = [][]byte{other}
		}
		batch[i][0].Buffers = [][]byte{game[i]}
	}
	for turn := 0; ; turn++ {
		past := time.Since(began)
		if past >= duration {
			return sent, nil
		}
		if due := int(past.Seconds()*rate) - sent; rate > 0 && due < 2*len(batch[0]) {
			time.Sleep(time.Millisecond / 4)
			continue
		}
		for i, end := range all[turn%len(all)] {
			n, err := end.WriteBatch(batch[i], 0)
			if err != nil && !errors.Is(err, syscall.ENOBUFS) {
				return sent, err
			}
			sent += max(0, n)
		}
	}
}
