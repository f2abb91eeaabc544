package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// demote gives up what only opening interfaces needs: it becomes the user of --user, or who called sudo, and keeps no capabilities.
func (o *liveOptions) demote() error {
	if os.Geteuid() == 0 {
		if err := become(cmp.Or(o.user, os.Getenv("SUDO_UID"))); err != nil {
			return fmt.Errorf("the user after the interfaces are open: %w; choose another with --user", err)
		}
	} else if o.user != "" {
		return errors.New("only root becomes another --user")
	}
	// With cgo, psx finds the threads of this process in /proc, and signals those of others if that has other numbers.
	if self, err := os.Readlink("/proc/self"); err == nil && self != strconv.Itoa(os.Getpid()) {
		return errors.New("/proc is of another PID namespace: capabilities cannot be given up; mount -t proc proc /proc (unshare --mount-proc)")
	}
	head, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	if _, _, err := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&none)), 0); err != 0 {
		return fmt.Errorf("giving up capabilities: %w", err)
	}
	return nil
}

// become makes all threads run as a user, given by name or number, with its groups.
func become(name string) error {
	if name == "" || name == "root" || name == "0" { // containers may have no list of users
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, _ = user.LookupId(name); u == nil { // its error is about the number
			return err
		}
	}
	list, err := u.GroupIds()
	if err != nil {
		return err
	}
	var ids []int
	for _, s := range append([]string{u.Uid, u.Gid}, list...) {
		id, err := strconv.Atoi(s)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	return cmp.Or(syscall.Setgroups(ids[2:]), syscall.Setgid(ids[1]), syscall.Setuid(ids[0]))
}

// confine forbids all threads to gain privileges, to bind or connect, and, where the kernel has Landlock, to open files outside of
// some folders. A command of --on-verdict would be bound by it, so there is none then.
func (o *liveOptions) confine(folders ...string) error {
	if o.onVerdict != "" {
		return nil
	}
	for _, f := range folders {
		if err := unix.Access(f, unix.W_OK|unix.X_OK); err != nil {
			return &fs.PathError{Op: "write", Path: f, Err: err}
		}
	}
	_ = time.Local.String() // reads the file of the time zone
	if _, _, err := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); err != 0 {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	rules := []landlock.Rule{landlock.RWDirs(folders...)}
	if o.reach > 0 { // names are looked up, and certificates checked
		rules = append(rules, landlock.RODirs("/etc", "/usr", "/lib", "/run/systemd/resolve").IgnoreIfMissing(), landlock.ConnectTCP(53), landlock.ConnectTCP(o.reach))
	}
	return landlock.V7.BestEffort().Restrict(rules...)
}

// preferHugePages asks for pages of 2 MB for the next n bytes by which the heap grows.
func preferHugePages(n int) {
	_ = syscall.Madvise(make([]byte, n), syscall.MADV_HUGEPAGE) // untouched, so it takes no memory; if there are none, small ones do
	runtime.GC()                                                // it is free for the tables
}
