package capture

import (
	"errors"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace. A nil one is that of the program.
type namespace struct{ fd int }

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
	n := &namespace{fd}
	if err := n.do(func() error { return nil }); err != nil {
		n.close()
		if errors.Is(err, unix.EINVAL) {
			return nil, errors.New("not a network namespace")
		}
		return nil, err
	}
	return n, nil
}

// do calls f on a thread that is in the namespace.
func (n *namespace) do(f func() error) error {
	if n == nil {
		return f()
	}
	runtime.LockOSThread()
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(own)
		err = unix.Setns(n.fd, unix.CLONE_NEWNET)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() {
		if unix.Setns(own, unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		} // else the thread ends with its goroutine, and nothing else runs on it
	}()
	return f()
}

func (n *namespace) close() {
	if n != nil {
		unix.Close(n.fd)
	}
}
