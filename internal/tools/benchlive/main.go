//go:build linux

// Command benchlive sends small UDP packets over the loopback interface, as many
// a second as told, while a qdissect captures there, and says what arrived, what
// was lost and what it cost. One packet in ten is game traffic, a question or its
// answer. It needs Linux and the rights to capture. make bench-live runs it;
// docs/live.md has its figures.
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
	rate := flag.Int("rate", 320_000, "packets per second")
	flag.Parse()
	if err := run(*program, *duration, *rate, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "benchlive:", err)
		os.Exit(1)
	}
}

func run(program string, duration time.Duration, rate int, args []string) error {
	if program == "" || rate < 1 {
		return errors.New("no program, or no rate")
	}
	cmd := exec.Command(program, append([]string{"-i", "lo", "-j", "1", "-o", "jsonl"}, args...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
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
	fmt.Printf("sent      %d packets in %.1f s, %.0f/s\n", sent, took.Seconds(), float64(sent)/took.Seconds())
	fmt.Printf("received  %d, lost %s\n", received, m[2])
	fmt.Printf("cpu       %.2f s, %.0f ns per packet\n", cpu.Seconds(), float64(cpu)/float64(max(1, received)))
	fmt.Printf("output    %.1f MB\n", float64(bytesOut)/1e6)
	fmt.Printf("resident  %s MiB each second, peak %d MiB\n", mib(resident), use.Maxrss>>10)
	fmt.Printf("on        %d cores, %s, %s/%s\n\n%s", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, said.String())
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
	for range senders {
		go func() {
			n, err := sendFrom(began, duration, float64(rate)/float64(senders))
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

// sendFrom sends from one socket, in bursts of a quarter of a millisecond.
func sendFrom(began time.Time, duration time.Duration, rate float64) (sent int, err error) {
	sink, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer sink.Close()
	c, err := net.Dial("udp4", sink.LocalAddr().String())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	p := ipv4.NewPacketConn(c.(*net.UDPConn))
	game := [][]byte{
		[]byte("\xff\xff\xff\xffTSource Engine Query\x00"),
		[]byte("\xff\xff\xff\xffI\x11A server\x00de_dust2\x00cstrike\x00Counter-Strike\x00\xf0\x00\x0b\x20\x00dl\x00\x011.0.0.0\x00\x00"),
	}
	other := bytes.Repeat([]byte{0x45, 0x17, 0x99}, 30)
	batch := make([]ipv4.Message, 64)
	for i := range batch {
		payload := other
		if i%10 == 0 {
			payload = game[i/10%2]
		}
		batch[i].Buffers = [][]byte{payload}
	}
	for {
		past := time.Since(began)
		if past >= duration {
			return sent, nil
		}
		if due := int(past.Seconds()*rate) - sent; due < len(batch) {
			time.Sleep(time.Millisecond / 4)
			continue
		}
		n, err := p.WriteBatch(batch, 0)
		if err != nil && !errors.Is(err, syscall.ENOBUFS) && !errors.Is(err, syscall.ECONNREFUSED) {
			return sent, err
		}
		sent += max(0, n)
	}
}
