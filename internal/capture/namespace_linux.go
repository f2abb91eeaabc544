package capture

import (
	"errors"
	"net"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace. A nil one is that of the program. A thread stays in it, because
// to enter it needs privileges, which the program gives up.
type namespace struct {
	calls chan func()
	over  chan struct{}
}

// openNamespace finds a network namespace: that of a process by its number, one of
// ip netns by its name, or a file such as /proc/1234/ns/net. "" is that of the program.
func openNamespace(name string) (*namespace, error) {
	if name == "" {
		return nil, nil
	}
	path, missing := "/run/netns/"+name, errors.New("no such name; ip netns lists them, and processes have numbers")
	switch {
	case name == "0":
		return nil, errors.New("0 is the process of a container that is not running")
	case strings.Trim(name, "0123456789") == "":
		path, missing = "/proc/"+name+"/ns/net", errors.New("no such process")
	case strings.Contains(name, "/"):
		path, missing = name, errors.New("no such file")
	case name == "." || name == "..":
		return nil, missing
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH), errors.Is(err, unix.ENAMETOOLONG):
		return nil, missing
	case err != nil:
		return nil, err
	}
	defer unix.Close(fd)
	n := &namespace{make(chan func()), make(chan struct{})}
	entered := make(chan error)
	go n.serve(fd, entered)
	if err = <-entered; errors.Is(err, unix.EINVAL) {
		err = errors.New("not a network namespace")
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// serve calls functions on a thread that is in the namespace. The thread ends with it, since it is never unlocked.
func (n *namespace) serve(fd int, entered chan<- error) {
	runtime.LockOSThread()
	err := unix.Setns(fd, unix.CLONE_NEWNET)
	entered <- err
	for err == nil {
		select {
		case f := <-n.calls:
			f()
		case <-n.over:
			return
		}
	}
}

// do calls f on the thread that is in the namespace.
func (n *namespace) do(f func() error) (err error) {
	if n == nil {
		return f()
	}
	done := make(chan error, 1)
	select {
	case n.calls <- func() { done <- f() }:
		return <-done
	case <-n.over:
		return net.ErrClosed
	}
}

func (n *namespace) close() {
	if n != nil {
		close(n.over)
	}
}
