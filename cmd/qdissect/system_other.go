//go:build !linux

package main

import "errors"

// demote and confine are for Linux.
func (o *liveOptions) demote() error {
	if o.user != "" && o.user != "root" {
		return errors.New("--user is for Linux")
	}
	return nil
}

func (*liveOptions) confine(...string) error { return nil }

func preferHugePages(int) {}
